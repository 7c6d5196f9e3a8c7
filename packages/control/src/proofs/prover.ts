// SPDX-License-Identifier: Apache-2.0
// Runs proofs and comparisons outside the event loop: one persistent thread with a copy of the cluster answers one query
// at a time. Namespaces take turns, long queries yield to others, callers get "not decided" in time, and a thread that
// does not yield is terminated and replaced.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { Assessment, ChangeEffect } from "@merlon/policy/proof"
import { FairQueue, type TokenBucket, type TokenBuckets } from "@merlon/wire/limits"
import { type Clock, systemClock } from "../observe/clock.js"
import { ClusterNews, type NewsSources } from "./cluster-news.js"
import { proofBudgets } from "./proof-budgets.js"
import type {
  Answer,
  EffectQuestion,
  FromThread,
  Holds,
  HoldsQuestion,
  PeopleAnswer,
  PeopleQuestion,
  Question,
  RemovalQuestion,
  ReviewQuestion,
  ToThread,
} from "./question.js"

/** What is needed of a worker thread. */
export interface Thread {
  postMessage(message: ToThread): void
  on(event: "message", listener: (message: FromThread) => void): unknown
  on(event: "error", listener: (error: Error) => void): unknown
  on(event: "exit", listener: () => void): unknown
  terminate(): unknown
  unref(): void
}

export type ProofOutcome = "answered" | "not_decided" | "failed" | "killed"

export interface ProverOptions extends NewsSources {
  readonly mesh: MeshConfig
  /** How long a client that applies a policy waits, at most, in milliseconds. */
  readonly budgetMs: number
  /** Starts a thread that ends the question whose number is put there. */
  readonly start: (ended: SharedArrayBuffer) => Thread
  readonly clock?: Clock
  readonly observe?: (outcome: ProofOutcome) => void
  readonly warn?: (message: string) => void
}

/** No answer, and why. */
export interface NotDecided {
  readonly notDecided: string
  /** Whether others went first: asked later, it may be decided. */
  readonly gaveWay?: boolean
}

/**
 * The root namespace's changes concern every namespace's policies and invariants, so they take longer to prove; a tenant
 * must not be able to hold them up. Kept below the ten seconds that an API server waits for a webhook.
 */
const ROOT_BUDGETS = 10
const ROOT_MOST_MS = 5_000
/** No client waits for the proof of a status, so it may take longer. */
const HOLDS_BUDGET_MS = 1_000
/** Reserved from the client's waiting time, to report what was found by then. */
const FINISH_MS = 30
/** Users may wait for other questions; the answer itself may take as long as for a review. */
const PEOPLE_WAIT_MS = 5_000
/** What every question gets, however many others wait. */
const TURN_MS = 60
/** A thread that was told to come to an end and has not by then never will. */
const GRACE_MS = 5_000
const RESTART_MS = 5_000

interface Asked {
  readonly question: Question
  readonly namespace: string
  /** When an answer is of no use any more. */
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
  readonly #news: ClusterNews
  readonly #queue: FairQueue<Asked>
  readonly #budgets: TokenBuckets
  readonly #rootBudgetMs: number
  readonly #rootBudgets: TokenBuckets
  readonly #ended = new SharedArrayBuffer(4)
  #thread: Thread | undefined
  #isReady = false
  readonly #firstNews: Promise<void>
  #heard = (): void => {}
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
    this.#news = new ClusterNews(options, () => this.#tell())
    this.#firstNews = new Promise(resolve => {
      this.#heard = resolve
    })
    this.#start()
  }

  /** Resolves when the first thread can be asked, or when it has failed to start. */
  ready(): Promise<void> {
    return this.#firstNews
  }

  review(question: ReviewQuestion | RemovalQuestion): Promise<Assessment | NotDecided> {
    const { namespace } = question.ask === "review" ? question.after.metadata : question
    const budgetMs = this.#isRoot(namespace) ? this.#rootBudgetMs : this.#options.budgetMs
    return this.#ask(question, namespace, budgetMs, budgetMs - FINISH_MS)
  }

  /** For the API. Each user has a share and a queue slot of their own. */
  ask(question: PeopleQuestion, user: string): Promise<PeopleAnswer | NotDecided> {
    return this.#ask(question, `user/${user}`, PEOPLE_WAIT_MS, this.#options.budgetMs)
  }

  /** For a status, so no client waits for it. */
  holds(question: HoldsQuestion, namespace: string): Promise<Holds | NotDecided> {
    // No namespace has such a name, so questions of clients go first, also those of the same namespace.
    return this.#ask(question, `status/${namespace}`, Number.POSITIVE_INFINITY, HOLDS_BUDGET_MS)
  }

  /** For the history, so no client waits for it. It has a share of its own, so that it takes no time from reviews. */
  effect(question: EffectQuestion, namespace: string): Promise<ChangeEffect | NotDecided> {
    return this.#ask(question, `history/${namespace}`, PEOPLE_WAIT_MS, this.#options.budgetMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#news.stop()
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
        resolve(answer as Answer<Q> | NotDecided) // the thread answers what it was asked
      }
      const asked: Asked = { question, namespace, deadline, most, settle }
      if (Number.isFinite(wait)) {
        cancel = this.#clock.after(wait, () => {
          this.#queue.remove(namespace, asked)
          settle({ notDecided: "the time is used up" })
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
      else asked.settle({ notDecided: "the time is used up" })
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
      this.#answered(id, { notDecided: `it cannot be asked: ${String(error)}` })
    }
  }

  #isRoot(namespace: string): boolean {
    return namespace === this.#options.mesh.names.rootNamespace
  }

  #budgetOf(namespace: string, now: number): TokenBucket {
    return (this.#isRoot(namespace) ? this.#rootBudgets : this.#budgets).of(namespace, now)
  }

  /** A namespace whose proof runs while others wait has its turn and no more, except for the root namespace. */
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
      this.#options.warn?.(`a proof for the namespace \`${running.asked.namespace}\` did not end; its thread was ended`)
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
    thread.on("error", error => this.#options.warn?.(`the thread for proofs ended: ${error.message}`))
    thread.on("exit", () => this.#gone())
  }

  #becameReady(): void {
    this.#isReady = true
    this.#heard()
    this.#tell()
  }

  #failed({ id, failed }: { readonly id: number; readonly failed: string }): void {
    this.#options.observe?.("failed")
    this.#options.warn?.(`a proof failed: ${failed}`)
    this.#answered(id, { notDecided: failed })
  }

  #gone(): void {
    const wasReady = this.#isReady
    this.#isReady = false
    this.#heard()
    this.#letGo("the thread for proofs ended")
    if (this.#stopped) return
    this.#news.everything()
    // One that cannot even start would only keep the machine busy with starting.
    if (wasReady) this.#start()
    else this.#clock.after(RESTART_MS, () => this.#start())
  }

  #letGo(why: string): void {
    if (this.#running !== undefined) this.#answered(this.#running.id, { notDecided: why })
  }

  /** Tells what changed, part by part, with everything else in between; questions wait for the last of it. */
  #tell(): void {
    if (this.#telling || !this.#isReady) return
    this.#telling = true
    const part = (): void => {
      const news = this.#isReady ? this.#news.next() : undefined
      if (news !== undefined) {
        this.#thread?.postMessage({ news })
        setImmediate(part)
        return
      }
      this.#telling = false
      this.#next()
    }
    part()
  }
}
