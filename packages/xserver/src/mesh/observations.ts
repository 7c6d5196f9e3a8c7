// SPDX-License-Identifier: Apache-2.0
// Reports the observed calls to the control plane. A batch is resent with the same number until it is acknowledged; new
// calls are added up meanwhile. Decisions are sent while a client follows them, and can be found by id.

import { randomBytes } from "node:crypto"
import { CallSet, type ObservedCall } from "@merlon/policy/ledger"
import {
  type CalledDestination,
  type Inquiry,
  MAX_CALLS,
  MAX_DECISIONS,
  MAX_DESTINATIONS,
  type Observation,
  type ObservationSource,
  type ObservedDecision,
} from "@merlon/xds"
import type { DecisionListener } from "../observe/decision-tail.js"
import type { DecisionSummary } from "../observe/decisions.js"
import type { Observed } from "../observe/observed.js"

const EVERY_MS = 5_000
/**
 * After this many turns without an acknowledgement a batch is sent again: a control plane without room for it has
 * dropped it.
 */
const RESEND_AFTER = 6
/** Limit while the control plane is down; beyond it the oldest are dropped, and counted. */
const MAX_PENDING = 4_000
const MAX_EXPLANATION = 500_000

/** The calls that the workload makes, as reported to the control plane. */
export interface ReportedCalls {
  /** Captured in the Pod, or sent here by programs that set `http_proxy`. */
  readonly taken: "captured" | "http_proxy"
  /** Most recently called first. */
  destinations(): readonly CalledDestination[]
}

export interface ObservationsOptions {
  readonly everyMs?: number
  readonly destinations?: ReportedCalls["destinations"]
}

type Batch = Extract<Observation, { readonly kind: "calls" }>

export class Observations implements ObservationSource {
  readonly #run = randomBytes(12).toString("hex")
  readonly #everyMs: number
  readonly #destinations: ReportedCalls["destinations"]
  #observed: Observed | undefined
  #pending = new CallSet(MAX_PENDING)
  #forgotten = 0
  #sequence = 0
  #inFlight: Batch | undefined
  #turns = 0
  #emit: ((observation: Observation) => boolean) | undefined
  #following = false
  #leftOut = 0
  #ready = true
  #timer: NodeJS.Timeout | undefined
  #taking: Promise<void> | undefined

  constructor({ everyMs = EVERY_MS, destinations = () => [] }: ObservationsOptions = {}) {
    this.#everyMs = everyMs
    this.#destinations = destinations
  }

  observe(observed: Observed): void {
    this.#observed = observed
    this.#timer ??= setInterval(() => void this.#collect(), this.#everyMs).unref()
  }

  open(emit: (observation: Observation) => boolean): ReturnType<ObservationSource["open"]> {
    this.#emit = emit
    this.#ready = true
    if (this.#inFlight !== undefined) emit(this.#inFlight)
    return {
      onInquiry: inquiry => void this.#onInquiry(inquiry, emit),
      closed: () => {
        if (this.#emit !== emit) return
        this.#emit = undefined
        void this.#follow(false)
      },
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #onInquiry(inquiry: Inquiry, emit: (observation: Observation) => boolean): Promise<void> {
    switch (inquiry.kind) {
      case "taken":
        if (inquiry.run !== this.#run || inquiry.sequence !== this.#inFlight?.sequence) return
        this.#inFlight = undefined
        this.#send()
        return
      case "follow":
        return this.#follow(inquiry.on)
      case "find": {
        const found = await this.#observed?.decision(inquiry.id).catch(() => undefined)
        const decisions = found === undefined ? [] : [observedDecision(found, true)]
        emit({ kind: "answer", inquiry: inquiry.inquiry, decisions })
        return
      }
      case "recent": {
        const recent = (await this.#observed?.decisions().catch(() => [])) ?? []
        const decisions = recent
          .slice(0, Math.min(inquiry.limit, MAX_DECISIONS))
          .map(one => observedDecision(one, false))
        emit({ kind: "answer", inquiry: inquiry.inquiry, decisions })
        return
      }
      case "destinations":
        emit({
          kind: "destinations",
          inquiry: inquiry.inquiry,
          destinations: this.#destinations().slice(0, MAX_DESTINATIONS),
        })
        return
      default:
        inquiry satisfies never
    }
  }

  async #follow(on: boolean): Promise<void> {
    if (this.#following === on) return
    this.#following = on
    const listener: DecisionListener = (decisions, leftOut) => this.#decided(decisions, leftOut)
    await this.#observed?.followDecisions(on ? listener : undefined).catch(() => undefined)
  }

  #decided(decisions: readonly DecisionSummary[], leftOut: number): void {
    this.#leftOut += leftOut
    // A control plane that does not read gets only the number of decisions.
    if (!this.#ready) this.#leftOut += decisions.length
    const sent = this.#ready ? decisions.slice(0, MAX_DECISIONS).map(decision => observedDecision(decision, false)) : []
    this.#ready = this.#emit?.({ kind: "decisions", decisions: sent, leftOut: this.#leftOut }) ?? true
    this.#leftOut = 0
  }

  #collect(): Promise<void> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined
    })
    return this.#taking
  }

  async #take(): Promise<void> {
    // Calls that were counted but cannot be read are lost, and readers of the ledger have to know that.
    const report = await this.#observed?.takeCalls().catch(() => ({ calls: [], forgotten: 1 }))
    for (const call of report?.calls ?? []) this.#pending.add(call)
    this.#forgotten += report?.forgotten ?? 0
    if (this.#inFlight !== undefined && ++this.#turns % RESEND_AFTER === 0) this.#emit?.(this.#inFlight)
    this.#send()
  }

  #send(): void {
    if (this.#inFlight !== undefined || this.#emit === undefined) return
    const forgotten = this.#forgotten + this.#pending.forgotten
    if (this.#pending.size === 0 && forgotten === 0) return
    const calls: ObservedCall[] = [...this.#pending.values()]
    const rest = new CallSet(MAX_PENDING)
    for (const call of calls.slice(MAX_CALLS)) rest.add(call)
    this.#pending = rest
    this.#forgotten = 0
    const batch: Batch = {
      kind: "calls",
      run: this.#run,
      sequence: ++this.#sequence,
      calls: calls.slice(0, MAX_CALLS),
      forgotten,
    }
    this.#inFlight = batch
    this.#turns = 0
    this.#emit(batch)
  }
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

function observedDecision(summary: DecisionSummary, explained: boolean): ObservedDecision {
  const { explanation, method, path, peer, source, reason, shadow, rule, ...rest } = summary
  const text = explained && explanation !== undefined ? JSON.stringify(explanation) : undefined
  return {
    ...rest,
    method: cut(method, 128),
    path: cut(path, 4_096),
    source: cut(source, 128),
    peer: peer && cut(peer, 2_048),
    reason: reason && cut(reason, 8_192),
    shadow: shadow && cut(shadow, 2_048),
    rule: rule && cut(rule, 1_024),
    explanation: text !== undefined && text.length <= MAX_EXPLANATION ? text : undefined,
  }
}
