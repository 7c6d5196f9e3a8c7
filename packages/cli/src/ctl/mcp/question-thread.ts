// SPDX-License-Identifier: Apache-2.0
// Runs commands of merlonctl in threads. A proof may take a minute, and the server must process cancellations
// meanwhile. A thread cannot write to standard output, its memory is bounded, and it ends with its answer.

import type { Worker } from "node:worker_threads"
import { startWorker } from "@merlon/xds/runtime"
import type { Confinement } from "../confinement.js"
import { CommandError } from "../exit.js"
import type { Answered } from "./server.js"

/** The input of a thread. */
export interface Question {
  readonly words: readonly string[]
  readonly confinement: Confinement
}

const MOST_AT_ONCE = 2
const LIMITS = { maxOldGenerationSizeMb: 1_024 }

export class QuestionThreads {
  readonly #confinement: Confinement
  readonly #timeoutMs: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(confinement: Confinement, timeoutMs: number) {
    this.#confinement = confinement
    this.#timeoutMs = timeoutMs
  }

  async ask(words: readonly string[], signal: AbortSignal): Promise<Answered> {
    while (this.#running >= MOST_AT_ONCE && !signal.aborted) {
      await new Promise<void>(resolve => {
        this.#waiting.push(resolve)
        signal.addEventListener("abort", () => resolve(), { once: true })
      })
    }
    signal.throwIfAborted()
    this.#running += 1
    try {
      return await this.#inThread(words, signal)
    } finally {
      this.#running -= 1
      // Wakes all waiting calls: a cancelled one leaves the slot to the next.
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }

  async #inThread(words: readonly string[], signal: AbortSignal): Promise<Answered> {
    const question: Question = { words, confinement: this.#confinement }
    const worker = startWorker(
      { beside: import.meta.url, name: "question-thread-main", asset: "question-thread.cjs" },
      { workerData: question, resourceLimits: LIMITS, stdout: true, stderr: true },
    )
    let timer: NodeJS.Timeout | undefined
    try {
      return await Promise.race([
        answerOf(worker),
        new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => reject(new CommandError("unexpected", "cancelled")), { once: true })
          timer = setTimeout(
            () => reject(new CommandError("unexpected", `no answer within ${this.#timeoutMs / 1000} s`)),
            this.#timeoutMs,
          )
        }),
      ])
    } finally {
      clearTimeout(timer)
      await worker.terminate()
    }
  }
}

function answerOf(worker: Worker): Promise<Answered> {
  return new Promise((resolve, reject) => {
    worker.once("message", (answered: Answered) => resolve(answered))
    worker.once("error", (error: Error & { code?: string }) => {
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY"
      reject(isMemory ? new CommandError("unexpected", "the question needs too much memory; ask about less") : error)
    })
    worker.once("exit", code =>
      reject(new CommandError("unexpected", `the question ended without an answer (${code})`)),
    )
  })
}
