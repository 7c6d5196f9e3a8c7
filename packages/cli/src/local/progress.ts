// SPDX-License-Identifier: Apache-2.0
// The progress of starting and stopping a mesh: one line per completed step; on a terminal also the current step, with a
// spinner.

import { paintError, printError, visible } from "../ctl/terminal.js"

export type Progress = (event: ProgressEvent) => void

export interface ProgressEvent {
  /** `begin`: a step starts. `done`: a step is complete. `note`: information. `trouble`: needs attention. */
  readonly kind: "begin" | "done" | "note" | "trouble"
  readonly text: string
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const FRAME_MS = 80

export function consoleProgress(): Progress & { end(): void } {
  const spinner = process.stderr.isTTY && process.env.TERM !== "dumb" ? new Spinner() : undefined
  const report = ({ kind, text }: ProgressEvent): void => {
    spinner?.clear()
    if (kind === "begin") spinner?.show(visible(text))
    else {
      printError(`${mark(kind)} ${visible(text)}`)
      if (kind !== "done") spinner?.show()
    }
  }
  return Object.assign(report, { end: () => spinner?.clear() })
}

function mark(kind: "done" | "note" | "trouble"): string {
  if (kind === "done") return paintError.green("✓")
  return kind === "note" ? paintError.cyan("·") : paintError.yellow("!")
}

class Spinner {
  #text = ""
  #frame = 0
  #timer: NodeJS.Timeout | undefined

  show(text = this.#text): void {
    this.#text = text
    if (text === "") return
    this.#timer = setInterval(() => this.#draw(), FRAME_MS)
    this.#timer.unref()
    this.#draw()
  }

  clear(): void {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    process.stderr.write("\r\u001b[K")
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length
    // A terminal may not report its width.
    const width = (process.stderr.columns || 80) - 3
    process.stderr.write(`\r\u001b[K${paintError.cyan(FRAMES[this.#frame] ?? "")} ${this.#text.slice(0, width)}`)
  }
}
