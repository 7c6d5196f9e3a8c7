// SPDX-License-Identifier: Apache-2.0
// Runs proofs and comparisons outside the event loop: one persistent thread with a copy of the cluster answers one
// query at a time. Namespaces take turns, long queries yield to others, and callers get "not decided" in time. A thread
// that does not yield is terminated and replaced.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { Assessment } from "@merlon/policy/proof"
import { FairQueue, type TokenBucket, type TokenBuckets } from "@merlon/wire/limits"
import { type Clock, systemClock } from "../observe/clock.js"
import { ClusterChangeQueue, type ClusterChangeSources } from "./cluster-changes.js"
import { proofBudgets } from "./proof-budgets.js"
import type {
  Answer,
  EffectQuestion,
  FromThread,
  Holds,
  HoldsQuestion,
  Question,
  RecordedEffect,
  RemovalQuestion,
  ReviewQuestion,
  ToThread,
  UserAnswer,
  UserQuery,
} from "./question.js"

/** The part of a worker thread that is used here. */
export interface Thread {
  postMessage(message: ToThread): void
  on(event: "message", listener: (message: FromThread) => void): unknown
  on(event: "error", listener: (error: Error) => void): unknown
  on(event: "exit", listener: () => void): unknown
  terminate(): unknown
  unref(): void
}

export type ProofOutcome = "answered" | "not_decided" | "failed" | "killed"

export interface ProverOptions extends ClusterChangeSources {
  readonly mesh: MeshConfig
  /** How long an apply waits, at most, in milliseconds. */
  readonly budgetMs: number
  /** Starts a thread, which ends the query whose number is written to `ended`. */
  readonly start: (ended: SharedArrayBuffer) => Thread
  readonly clock?: Clock
  readonly observe?: (outcome: ProofOutcome) => void
  readonly warn?: (message: string) => void
}

/** Why there is no answer. */
export interface NotDecided {
  readonly notDecided: string
  /** Whether the query yielded to others: a later attempt may be decided. */
  readonly gaveWay?: boolean
}

/**
 * Changes in the root namespace concern the policies and invariants of every namespace, so their proofs take longer,
 * and a tenant must not be able to delay them. Stays below the ten seconds that an API server waits for a webhook.
 */
const ROOT_BUDGETS = 10
const ROOT_MOST_MS = 5_000
/** No client waits for the proof of a status, so it may take longer. */
const HOLDS_BUDGET_MS = 1_000
/** Reserved from the client's waiting time, to report partial results. */
const FINISH_MS = 30
/** Users may wait for other queries first; their own query gets as much time as a review. */
const PEOPLE_WAIT_MS = 5_000
/** Every query gets this much time, however many others wait. */
const TURN_MS = 60
/** A thread that has not stopped its query by this time never will. */
const GRACE_MS = 5_000
const RESTART_MS = 5_000

interface Asked {
  readonly question: Question
  readonly namespace: string
  /** After this time the client no longer needs an answer. */
  readonly deadline: number
  readonly most: number
  readonly settle: (answer: Answer<Question> | NotDecided) => void
}

interface Running {
  readonly id: number
  readonly asked: Asked
  readonly since: number
  endAt: number
  gaveWay: boolean
  cancel: () => void
}

export class Prover {
  readonly #options: ProverOptions
  readonly #clock: Clock
  readonly #changes: ClusterChangeQueue
  readonly #queue: FairQueue<Asked>
  readonly #budgets: TokenBuckets
  readonly #rootBudgetMs: number
  readonly #rootBudgets: TokenBuckets
  readonly #ended = new SharedArrayBuffer(4)
  #thread: Thread | undefined
  #isReady = false
  readonly #firstNews: Promise<void>
  #received = (): void => {}
  #running: Running | undefined
  #asked = 0
  #telling = false
  #stopped = false

  constructor(options: ProverOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#budgets = proofBudgets(options.budgetMs)
    this.#rootBudgetMs = Math.max(options.budgetMs, Math.min(options.budgetMs * ROOT_BUDGETS, ROOT_MOST_MS))
    this.#rootBudgets = proofBudgets(this.#rootBudgetMs)
    this.#queue = new FairQueue(options.mesh.names.rootNamespace)
    this.#changes = new ClusterChangeQueue(options, () => this.#notify())
    this.#firstNews = new Promise(resolve => {
      this.#received = resolve
    })
    this.#start()
  }

  /** Resolves once the first thread is ready for queries, or has failed to start. */
  ready(): Promise<void> {
    return this.#firstNews
  }

  review(question: ReviewQuestion | RemovalQuestion): Promise<Assessment | NotDecided> {
    const { namespace } = question.ask === "review" ? question.after.metadata : question
    const budgetMs = this.#isRoot(namespace) ? this.#rootBudgetMs : this.#options.budgetMs
    return this.#ask(question, namespace, budgetMs, budgetMs - FINISH_MS)
  }

  /** Queries of the API. Each user has a share and a queue slot of their own. */
  ask(question: UserQuery, user: string): Promise<UserAnswer | NotDecided> {
    return this.#ask(question, `user/${user}`, PEOPLE_WAIT_MS, this.#options.budgetMs)
  }

  /** Queries for a status. No client waits for them. */
  holds(question: HoldsQuestion, namespace: string): Promise<Holds | NotDecided> {
    // No namespace has such a name, so clients' queries go first, also those of the same namespace.
    return this.#ask(question, `status/${namespace}`, Number.POSITIVE_INFINITY, HOLDS_BUDGET_MS)
  }

  /** Queries for the history. No client waits for them. They have a share of their own, so reviews lose no time. */
  effect(question: EffectQuestion, namespace: string): Promise<RecordedEffect | NotDecided> {
    return this.#ask(question, `history/${namespace}`, PEOPLE_WAIT_MS, this.#options.budgetMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#changes.stop()
    this.#letGo("the control plane is stopping")
    await this.#thread?.terminate()
  }

  #ask<Q extends Question>(
    question: Q,
    namespace: string,
    wait: number,
    most: number,
  ): Promise<Answer<Q> | NotDecided> {
    return new Promise(resolve => {
      let cancel = (): void => {}
      let settled = false
      const deadline = this.#clock.monotonic() + wait
      const settle: Asked["settle"] = answer => {
        cancel()
        if (settled) return
        settled = true
        this.#options.observe?.("notDecided" in answer ? "not_decided" : "answered")
        resolve(answer as Answer<Q> | NotDecided) // the thread answers with the type of the query
      }
      const asked: Asked = { question, namespace, deadline, most, settle }
      if (Number.isFinite(wait)) {
        cancel = this.#clock.after(wait, () => {
          this.#queue.remove(namespace, asked)
          settle({ notDecided: "the time limit was reached" })
        })
      }
      this.#queue.add(namespace, asked)
      this.#giveWay()
      this.#next()
    })
  }

  #next(): void {
    while (this.#running === undefined && this.#isReady && !this.#telling) {
      const asked = this.#queue.next()
      if (asked === undefined) return
      const now = this.#clock.monotonic()
      const waited = asked.deadline - FINISH_MS - now
      const share = asked.question.ask === "holds" ? asked.most : this.#budgetOf(asked.namespace, now).left(now)
      const budget = Math.min(asked.most, waited, share)
      if (budget > 0) this.#run(asked, now, budget)
      else asked.settle({ notDecided: "the time limit was reached" })
    }
  }

  #run(asked: Asked, now: number, budget: number): void {
    const id = ++this.#asked
    const running: Running = { id, asked, since: now, endAt: now + budget, gaveWay: false, cancel: () => {} }
    this.#running = running
    running.cancel = this.#clock.after(budget, () => this.#end(running))
    this.#giveWay()
    try {
      this.#thread?.postMessage({ id, question: asked.question })
    } catch (error) {
      this.#answered(id, { notDecided: `the query cannot be sent: ${String(error)}` })
    }
  }

  #isRoot(namespace: string): boolean {
    return namespace === this.#options.mesh.names.rootNamespace
  }

  #budgetOf(namespace: string, now: number): TokenBucket {
    return (this.#isRoot(namespace) ? this.#rootBudgets : this.#budgets).of(namespace, now)
  }

  /** Ends the turn of a running query if others wait, unless it belongs to the root namespace. */
  #giveWay(): void {
    const running = this.#running
    if (running === undefined || this.#isRoot(running.asked.namespace)) return
    if (!this.#queue.hasOthers(running.asked.namespace)) return
    const now = this.#clock.monotonic()
    const endAt = Math.max(now, running.since + TURN_MS)
    if (endAt >= running.endAt) return
    running.endAt = endAt
    running.gaveWay = true
    running.cancel()
    running.cancel = this.#clock.after(endAt - now, () => this.#end(running))
  }

  #end(running: Running): void {
    Atomics.store(new Int32Array(this.#ended), 0, running.id)
    running.cancel = this.#clock.after(GRACE_MS, () => {
      this.#options.observe?.("killed")
      this.#options.warn?.(
        `a proof for the namespace \`${running.asked.namespace}\` did not stop in time; its thread was terminated`,
      )
      this.#thread?.terminate()
    })
  }

  #answered(id: number, answer: Answer<Question> | NotDecided): void {
    const running = this.#running
    if (running?.id !== id) return
    this.#running = undefined
    running.cancel()
    const now = this.#clock.monotonic()
    const { question, namespace } = running.asked
    if (question.ask !== "holds") this.#budgetOf(namespace, now).spend(now, now - running.since)
    const cutShort = running.gaveWay && "reason" in answer && answer.reason === "NotDecided"
    running.asked.settle(cutShort ? { notDecided: answer.message, gaveWay: true } : answer)
    this.#next()
  }

  #start(): void {
    if (this.#stopped) return
    const thread = this.#options.start(this.#ended)
    thread.unref()
    this.#thread = thread
    thread.on("message", message => {
      if ("ready" in message) this.#becameReady()
      else if ("failed" in message) this.#failed(message)
      else this.#answered(message.id, message.answer)
    })
    thread.on("error", error => this.#options.warn?.(`the proof thread ended: ${error.message}`))
    thread.on("exit", () => this.#gone())
  }

  #becameReady(): void {
    this.#isReady = true
    this.#received()
    this.#notify()
  }

  #failed({ id, failed }: { readonly id: number; readonly failed: string }): void {
    this.#options.observe?.("failed")
    this.#options.warn?.(`a proof failed: ${failed}`)
    this.#answered(id, { notDecided: failed })
  }

  #gone(): void {
    const wasReady = this.#isReady
    this.#isReady = false
    this.#received()
    this.#letGo("the proof thread ended")
    if (this.#stopped) return
    this.#changes.everything()
    // Restarting a thread that cannot start would only keep the machine busy.
    if (wasReady) this.#start()
    else this.#clock.after(RESTART_MS, () => this.#start())
  }

  #letGo(why: string): void {
    if (this.#running !== undefined) this.#answered(this.#running.id, { notDecided: why })
  }

  /** Sends changes part by part, with other work in between. Queries wait until the last part is sent. */
  #notify(): void {
    if (this.#telling || !this.#isReady) return
    this.#telling = true
    const part = (): void => {
      const changes = this.#isReady ? this.#changes.next() : undefined
      if (changes !== undefined) {
        this.#thread?.postMessage({ changes })
        setImmediate(part)
        return
      }
      this.#telling = false
      this.#next()
    }
    part()
  }
}
