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
  readonly #told = new Set<() => void>()
  /** The program has ended, and all of its output was read. */
  #isOver = false

  constructor(command: string, args: readonly string[], env: Environment) {
    this.#child = spawn(command, [...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    const hear = (chunk: Buffer): void => {
      this.text += chunk.toString()
      this.#tell()
    }
    this.#child.stdout?.on("data", hear)
    this.#child.stderr?.on("data", hear)
    this.#child.once("close", () => {
      this.#isOver = true
      this.#tell()
    })
  }

  /** Resolves when the output matches; rejects if the program ends without. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.text)
        if (match === null && !this.#isOver) return
        this.#told.delete(look)
        if (match === null) reject(new Error(`ended without saying ${pattern}: ${this.text}`))
        else resolve(match)
      }
      this.#told.add(look)
      look()
    })
  }

  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode
    const ended = once(this.#child, "exit")
    this.#child.kill("SIGTERM")
    const [code] = await ended
    return code
  }

  #tell(): void {
    for (const look of [...this.#told]) look()
  }
}
