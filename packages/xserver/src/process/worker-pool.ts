// SPDX-License-Identifier: Apache-2.0
// Several workers behind one data path: a configuration is applied when every one of them enforces it. A worker that
// dies is replaced and takes no connection before it has the configuration in force.

import cluster, { type Worker } from "node:cluster"
import type { MetricObjectWithValues, MetricValue } from "prom-client"
import type { Configuration } from "../config/configuration.js"
import type { DecisionSummary } from "../observe/decisions.js"
import type { DataPath } from "./data-path.js"
import type { DataPathOptions } from "./local-data-path.js"
import { type Answered, HELLO, type Question } from "./worker-messages.js"

const MAX_LISTED = 1_000
/** A worker that dies at once must not keep the machine busy with forking. */
const RESPAWN_MS = 1_000

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export class WorkerPool implements DataPath {
  readonly #options: DataPathOptions
  readonly #workers = new Set<WorkerHandle>()
  /** What every worker is to enforce, from the moment it is asked of them: a worker that starts meanwhile gets it too. */
  #wanted: Configuration | undefined
  #closing = false

  constructor(
    options: DataPathOptions,
    count: number,
    entry: { readonly exec: string; readonly args: readonly string[] },
  ) {
    this.#options = options
    cluster.setupPrimary({ exec: entry.exec, args: [...entry.args], serialization: "advanced" })
    for (let n = 0; n < count; n++) this.#spawn()
  }

  async apply(configuration: Configuration): Promise<void> {
    const before = this.#wanted
    this.#wanted = configuration
    try {
      await this.#all({ ask: "apply", configuration })
    } catch (error) {
      this.#wanted = before
      throw error
    }
  }

  async metrics(): Promise<readonly MetricObjectWithValues<MetricValue<string>>[][]> {
    const answers = await this.#all<MetricObjectWithValues<MetricValue<string>>[][]>({ ask: "metrics" })
    return answers.flat()
  }

  async decisions(): Promise<readonly DecisionSummary[]> {
    const lists = await this.#all<readonly DecisionSummary[]>({ ask: "decisions" })
    return lists
      .flat()
      .sort((a, b) => b.time.localeCompare(a.time))
      .slice(0, MAX_LISTED)
  }

  async decision(id: string): Promise<DecisionSummary | undefined> {
    const found = await this.#all<DecisionSummary | undefined>({ ask: "decision", id })
    return found.find(candidate => candidate !== undefined)
  }

  async drain(): Promise<void> {
    this.#closing = true
    await Promise.allSettled([...this.#workers].map(worker => worker.ask({ ask: "drain" })))
    for (const worker of this.#workers) worker.end()
  }

  async #all<T = unknown>(question: Question): Promise<readonly T[]> {
    const answers = await Promise.all([...this.#workers].map(worker => worker.ask(question)))
    return answers as readonly T[] // what a worker answers is fixed by the question
  }

  #spawn(): void {
    const handle = new WorkerHandle(cluster.fork())
    this.#workers.add(handle)
    handle.onExit(() => {
      this.#workers.delete(handle)
      if (!this.#closing) setTimeout(() => this.#closing || this.#spawn(), RESPAWN_MS)
    })
    handle
      .ask({ ask: "start", options: this.#options })
      .then(() => this.#wanted && handle.ask({ ask: "apply", configuration: this.#wanted }))
      // It cannot enforce what the others do, so it must not serve beside them.
      .catch(() => handle.end())
  }
}

class WorkerHandle {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #listening: Promise<void>
  #number = 0

  constructor(worker: Worker) {
    this.#worker = worker
    this.#listening = new Promise(resolve => worker.once("message", () => resolve()))
    worker.on("message", (message: Answered) => {
      if (message === HELLO) return
      const waiting = this.#waiting.get(message.number)
      this.#waiting.delete(message.number)
      if ("error" in message) waiting?.reject(new Error(message.error))
      else waiting?.resolve(message.answer)
    })
    this.onExit(() => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error("the worker has ended"))
      this.#waiting.clear()
    })
  }

  ask(question: Question): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#worker.isDead() || !this.#worker.isConnected()) return reject(new Error("the worker has ended"))
      const number = ++this.#number
      this.#waiting.set(number, { resolve, reject })
      this.#listening.then(() => this.#worker.send({ number, question })).catch(reject)
    })
  }

  onExit(listener: () => void): void {
    this.#worker.once("exit", listener)
  }

  end(): void {
    this.#worker.kill("SIGKILL")
  }
}
