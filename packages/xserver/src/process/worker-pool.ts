// SPDX-License-Identifier: Apache-2.0
// Several workers behind one data path: a configuration is applied when all of them enforce it. A worker that dies is
// replaced, and the new one accepts no connections before it has the current configuration.

import cluster, { type Worker } from "node:cluster"
import { randomBytes } from "node:crypto"
import { suspendAwareTimeout } from "@merlon/xds/runtime"
import type { Configuration } from "../config/configuration.js"
import { KeyReports } from "../enforcement/key-reports.js"
import type { CallReport } from "../observe/call-counter.js"
import type { DecisionListener } from "../observe/decision-tail.js"
import type { DecisionSummary } from "../observe/decisions.js"
import type { DataPath, MetricList } from "./data-path.js"
import type { DataPathOptions } from "./local-data-path.js"
import { type Answered, HELLO, type Question } from "./worker-messages.js"

const MAX_LISTED = 1_000
/** Limits the rate of forks if workers die at once. */
const RESPAWN_MS = 1_000
/** A worker that does not answer for this long serves no traffic either, and blocks the change for all others. */
const ANSWER_MS = 30_000
const APPLY_ATTEMPTS = 3

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
  readonly answered: () => void
}

class WorkerGone extends Error {
  constructor() {
    super("the worker has ended")
  }
}

export class WorkerPool implements DataPath {
  readonly #options: DataPathOptions
  readonly #answerMs: number
  readonly #workers = new Set<WorkerHandle>()
  /**
   * The configuration for all workers, from the moment it is sent to them: a worker that starts meanwhile gets it too.
   */
  #wanted: Configuration | undefined
  #followed: DecisionListener | undefined
  /** Combines the reports of all workers, so that the control plane gets them at the rate of one process. */
  #unknownKeys: KeyReports | undefined
  #draining = false
  /** Workers that ended before they reported their counts. */
  #lostReports = 0
  #closing = false

  constructor(
    options: DataPathOptions,
    count: number,
    entry: { readonly exec: string; readonly args: readonly string[] },
    answerMs = ANSWER_MS,
  ) {
    // Each worker can resume the sessions of the others. The secret lives as long as the pool, in memory only.
    this.#options = { ...options, ticketSecret: randomBytes(32).toString("base64") }
    this.#answerMs = answerMs
    cluster.setupPrimary({ exec: entry.exec, args: [...entry.args], serialization: "advanced" })
    for (let n = 0; n < count; n++) this.#spawn()
  }

  async apply(configuration: Configuration): Promise<void> {
    const before = this.#wanted
    this.#wanted = configuration
    try {
      await this.#enforce(configuration)
    } catch (error) {
      this.#wanted = before
      // Some workers may have applied what another rejected, but all must enforce the same.
      if (before !== undefined) await this.#enforce(before).catch(() => undefined)
      throw error
    }
  }

  onUnknownKeys(listener: (keySetIds: readonly string[]) => void): void {
    this.#unknownKeys = new KeyReports(listener)
  }

  async metrics(): Promise<readonly MetricList[]> {
    const answers = await this.#all<MetricList[]>({ ask: "metrics" })
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

  async takeCalls(): Promise<CallReport> {
    const asked = await Promise.allSettled([...this.#workers].map(worker => worker.ask({ ask: "calls" })))
    // The query determines the type of a worker's answer.
    const reports = asked.flatMap(one => (one.status === "fulfilled" ? [one.value as CallReport] : []))
    const lost = this.#lostReports + asked.length - reports.length
    this.#lostReports = 0
    return {
      calls: reports.flatMap(({ calls }) => calls),
      forgotten: reports.reduce((sum, { forgotten }) => sum + forgotten, lost),
    }
  }

  async followDecisions(listener: DecisionListener | undefined): Promise<void> {
    this.#followed = listener
    await this.#all({ ask: "follow", on: listener !== undefined })
  }

  async startDraining(): Promise<void> {
    this.#draining = true
    await this.#all({ ask: "start-draining" })
  }

  async drain(): Promise<void> {
    this.#closing = true
    const drainDeadlineMs = this.#options.limits.drainTimeoutMs + this.#answerMs
    await Promise.allSettled([...this.#workers].map(worker => worker.ask({ ask: "drain" }, drainDeadlineMs)))
    for (const worker of this.#workers) worker.end()
  }

  /**
   * A worker that dies meanwhile does not reject the configuration: it serves no traffic, and its successor starts with
   * the wanted configuration. If all die, no worker enforces it yet, so their successors are asked. A configuration
   * that kills those too cannot be used.
   */
  async #enforce(configuration: Configuration): Promise<void> {
    for (let attempt = 0; attempt < APPLY_ATTEMPTS; attempt++) {
      if (attempt > 0) await new Promise(resolve => setTimeout(resolve, 2 * RESPAWN_MS))
      const asked = [...this.#workers].map(worker => worker.ask({ ask: "apply", configuration }))
      const outcomes = await Promise.allSettled(asked)
      const rejected = outcomes.find(
        outcome => outcome.status === "rejected" && !(outcome.reason instanceof WorkerGone),
      )
      if (rejected?.status === "rejected") throw rejected.reason
      if (outcomes.some(outcome => outcome.status === "fulfilled")) return
    }
    throw new WorkerGone()
  }

  async #all<T = unknown>(question: Question): Promise<readonly T[]> {
    const answers = await Promise.all([...this.#workers].map(worker => worker.ask(question)))
    return answers as readonly T[] // the query determines the type of the answer
  }

  #spawn(): void {
    const handle = new WorkerHandle(cluster.fork(), this.#answerMs, {
      unknownKeys: ids => this.#unknownKeys?.add(ids),
      followed: (decisions, leftOut) => this.#followed?.(decisions, leftOut),
    })
    this.#workers.add(handle)
    handle.onExit(() => {
      this.#workers.delete(handle)
      this.#lostReports++
      if (!this.#closing) setTimeout(() => this.#closing || this.#spawn(), RESPAWN_MS)
    })
    handle
      .ask({ ask: "start", options: this.#options })
      .then(() => this.#wanted && handle.ask({ ask: "apply", configuration: this.#wanted }))
      .then(() => this.#draining && handle.ask({ ask: "start-draining" }))
      .then(() => this.#followed && handle.ask({ ask: "follow", on: true }))
      // It cannot enforce what the others enforce, so it must not serve beside them.
      .catch(() => handle.end())
  }
}

/** Messages that a worker sends unprompted. */
interface WorkerEvents {
  readonly unknownKeys: (ids: readonly string[]) => void
  readonly followed: DecisionListener
}

class WorkerHandle {
  readonly #worker: Worker
  readonly #answerMs: number
  readonly #waiting = new Map<number, Waiting>()
  readonly #listening: Promise<void>
  readonly #gone: Promise<void>
  #number = 0

  constructor(worker: Worker, answerMs: number, events: WorkerEvents) {
    this.#worker = worker
    this.#answerMs = answerMs
    this.#listening = new Promise(resolve => worker.once("message", () => resolve()))
    this.#gone = new Promise(resolve => {
      worker.once("exit", () => resolve())
      // If the process could not be started, there is no `exit` event. Otherwise the error means that it died while we
      // wrote to it.
      worker.on("error", () => {
        if (worker.process.pid === undefined) resolve()
      })
    })
    worker.on("message", (message: Answered) => {
      if (message === HELLO) return
      if ("unknownKeys" in message) return events.unknownKeys(message.unknownKeys)
      if ("followed" in message) return events.followed(message.followed, message.leftOut)
      const waiting = this.#take(message.number)
      if ("error" in message) waiting?.reject(new Error(message.error))
      else waiting?.resolve(message.answer)
    })
    this.onExit(() => {
      for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(new WorkerGone())
    })
  }

  /** A worker that does not answer in time is killed. */
  ask(question: Question, timeoutMs = this.#answerMs): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#worker.isDead() || !this.#worker.isConnected()) return reject(new WorkerGone())
      const number = ++this.#number
      const answered = suspendAwareTimeout(timeoutMs, () => this.end())
      this.#waiting.set(number, { resolve, reject, answered })
      // With a callback: otherwise the error of writing to a worker that has just died would end this process. Its exit
      // is reported separately.
      this.#listening.then(() => this.#worker.send({ number, question }, () => undefined)).catch(reject)
    })
  }

  onExit(listener: () => void): void {
    void this.#gone.then(listener)
  }

  end(): void {
    this.#worker.process.kill("SIGKILL")
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    waiting?.answered()
    return waiting
  }
}
