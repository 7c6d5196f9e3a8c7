// SPDX-License-Identifier: Apache-2.0
// The output of a command: results on standard output, everything else on standard error, colour only on a terminal.
// External text goes through `visible` first, because control characters could overwrite what is shown.

import { Ansis } from "ansis"

const colours = (stream: NodeJS.WriteStream): Ansis =>
  new Ansis(stream.isTTY && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb" ? 1 : 0)

/** Colours for standard output. */
export const paint: Ansis = colours(process.stdout)
/** Colours for standard error. */
export const paintError: Ansis = colours(process.stderr)

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`)
}

export function printError(text: string): void {
  process.stderr.write(text.endsWith("\n") ? text : `${text}\n`)
}

export function warn(text: string): void {
  printError(`${paintError.yellow("Warning:")} ${visible(text)}`)
}

/** The text on one line, without terminal control characters. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, character => {
    const code = character.codePointAt(0) ?? 0
    return code === 0x1b ? "^[" : `\\u{${code.toString(16)}}`
  })
}

/** The same for text of several lines. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n")
}
