// SPDX-License-Identifier: Apache-2.0
// The client of store-server: calls as promises, watch events to one listener, and the kill.

import { type ChildProcessByStdio, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { Seen } from "./ledger.js"
import type { Request } from "./store-server.js"

export const storeServer = new URL("./store-server.ts", import.meta.url)

/** The process died before it responded. */
export class Died extends Error {}

/** The store answered with an error. */
export class StoreFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

interface Call {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export class StoreClient {
  listener: (event: Seen) => void = () => undefined
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #calls = new Map<number, Call>()
  readonly #gone: Promise<void>
  #next = 0
  #dead = false

  /** `program`: the bundled store server. */
  constructor(program: string) {
    this.#child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] })
    this.#child.stdin.on("error", () => undefined)
    createInterface({ input: this.#child.stdout }).on("line", line => this.#hear(line))
    // "close" comes after the last byte was read, so all output of the process was received.
    this.#gone = new Promise(resolve => {
      this.#child.once("close", () => {
        this.#dead = true
        for (const call of this.#calls.values()) call.reject(new Died())
        this.#calls.clear()
        resolve()
      })
    })
  }

  async call<T>(request: Request): Promise<T> {
    if (this.#dead) throw new Died()
    const call = this.#next++
    this.#child.stdin.write(`${JSON.stringify({ call, request })}\n`)
    // The caller knows the type of its result.
    return (await new Promise<unknown>((resolve, reject) => this.#calls.set(call, { resolve, reject }))) as T
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
  }

  #hear(line: string): void {
    const message = JSON.parse(line) as {
      event?: Seen
      call?: number
      answer?: unknown
      error?: { code?: string; message: string }
    }
    if (message.event !== undefined) this.listener(message.event)
    if (message.call === undefined) return
    const call = this.#calls.get(message.call)
    this.#calls.delete(message.call)
    if (message.error === undefined) call?.resolve(message.answer)
    else call?.reject(new StoreFailure(message.error.code ?? "", message.error.message))
  }
}
