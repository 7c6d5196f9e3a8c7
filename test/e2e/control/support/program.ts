// SPDX-License-Identifier: Apache-2.0
// A real `merlond` process: its output and how it ends. `MERLOND` names another build of it.

import { type ChildProcess, spawn } from "node:child_process"

const PROGRAM = process.env.MERLOND ?? "packages/cli/bin/merlond.js"

export class Program {
  stdout = ""
  stderr = ""
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  readonly #listeners = new Set<() => void>()
  /** The process has ended, and all of its output was read. */
  #isOver = false

  constructor(args: readonly string[], env: { readonly [name: string]: string } = {}) {
    const { KUBECONFIG: _, ...inherited } = process.env
    this.#child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...inherited, ...env },
    })
    this.#child.stdout?.on("data", chunk => {
      this.stdout += chunk
      this.#notify()
    })
    this.#child.stderr?.on("data", chunk => {
      this.stderr += chunk
      this.#notify()
    })
    this.#ended = new Promise(resolve => {
      this.#child.once("close", code => {
        this.#isOver = true
        resolve(code)
        this.#notify()
      })
    })
  }

  /** Resolves when one of its outputs matches; rejects if the process ends without. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr)
        if (match === null && !this.#isOver) return
        this.#listeners.delete(check)
        if (match === null) reject(new Error(`ended without saying ${pattern}: ${this.stderr}`))
        else resolve(match)
      }
      this.#listeners.add(check)
      check()
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Null if a signal ended it. */
  exit(): Promise<number | null> {
    return this.#ended
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.#ended
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
