// SPDX-License-Identifier: Apache-2.0
// Runs a program: its output and exit code; or one that keeps running, and its output so far.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"

export type Environment = { readonly [name: string]: string }

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export function run(command: string, args: readonly string[], env: Environment, input = ""): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { env })
    const texts = { out: "", err: "" }
    child.stdout.on("data", (chunk: Buffer) => (texts.out += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (texts.err += chunk.toString()))
    child.once("error", reject)
    child.once("close", code => resolve({ code, ...texts }))
    // A program that rejects its arguments does not read its input.
    child.stdin.on("error", () => undefined)
    child.stdin.end(input)
  })
}

export class Running {
  text = ""
  readonly #child: ChildProcess
  readonly #listeners = new Set<() => void>()
  /** The program has ended, and all of its output was read. */
  #isOver = false

  constructor(command: string, args: readonly string[], env: Environment) {
    this.#child = spawn(command, [...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    const append = (chunk: Buffer): void => {
      this.text += chunk.toString()
      this.#notify()
    }
    this.#child.stdout?.on("data", append)
    this.#child.stderr?.on("data", append)
    this.#child.once("close", () => {
      this.#isOver = true
      this.#notify()
    })
  }

  /** Resolves when the output matches; rejects if the program ends without. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(this.text)
        if (match === null && !this.#isOver) return
        this.#listeners.delete(check)
        if (match === null) reject(new Error(`ended without saying ${pattern}: ${this.text}`))
        else resolve(match)
      }
      this.#listeners.add(check)
      check()
    })
  }

  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode
    const ended = once(this.#child, "exit")
    this.#child.kill("SIGTERM")
    const [code] = await ended
    return code
  }

  #notify(): void {
    for (const check of [...this.#listeners]) check()
  }
}
