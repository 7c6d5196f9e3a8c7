// SPDX-License-Identifier: Apache-2.0
// Observations from the proxies of this replica. Their counts go into the ledger. Their decisions are queried, live or
// by id, only while a client asks for them.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { CalledDestination, Inquiry, Observation, ObservedDecision } from "@merlon/xds"
import type { Caller, ObservationSink, Rejection } from "@merlon/xds/server"
import { type PolicySource, policyKey } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { CallLedger } from "./call-ledger.js"
import type { Batch, RuleUse } from "./ledger-shard.js"
import { rulesOf } from "./rule-digests.js"
import { WorkloadNames } from "./workload-names.js"

/** A decision with the workload whose proxy made it: `namespace/name` of the Pod. */
export interface ProxyDecision extends ObservedDecision {
  readonly workload: string
}

export interface RecentDecisions {
  readonly decisions: readonly ProxyDecision[]
  /** Proxies that were queried, and proxies that are known. */
  readonly asked: number
  readonly known: number
}

/** A destination with the proxy that called it: `namespace/name` of the Pod. */
export interface ProxyDestination {
  readonly proxy: string
  readonly called: CalledDestination
}

export interface QueriedDestinations {
  readonly destinations: readonly ProxyDestination[]
  /** Proxies that were queried, and known proxies that handle outbound calls. */
  readonly asked: number
  readonly known: number
}

export interface Follower {
  /** All namespaces if undefined. */
  readonly namespace: string | undefined
  decided(decisions: readonly ProxyDecision[], leftOut: number): void
}

export interface ObserversOptions {
  readonly ledger: CallLedger
  readonly policies: PolicySource
  readonly directory: MeshDirectory
  /** Whether the caller may report for the proxy of that node. */
  readonly mayReportFor: (caller: Caller, nodeId: string) => boolean
  /** Whether the proxy reports that it handles the calls of its workload: only such a proxy knows what is called. */
  readonly takesCalls: (proxy: string) => boolean
  readonly rootNamespace: string
  readonly now: () => number
  readonly answerMs?: number
}

interface Session {
  readonly proxy: string
  readonly ask: (inquiry: Inquiry) => void
  readonly asked: Map<number, (answer: Answer | undefined) => void>
}

type Answer = Extract<Observation, { readonly kind: "answer" | "destinations" }>

const ANSWER_MS = 3_000
/** How many proxies are asked for their decisions at once. In a mesh of thousands, people do not read all of them. */
const MAX_ASKED = 200

export class Observers implements ObservationSink {
  readonly #options: ObserversOptions
  readonly #names: WorkloadNames
  /** The latest session of each proxy. */
  readonly #sessions = new Map<string, Session>()
  readonly #followers = new Set<Follower>()
  #inquiry = 0

  constructor(options: ObserversOptions) {
    this.#options = options
    this.#names = new WorkloadNames(options.directory)
  }

  open(caller: Caller, nodeId: string, ask: (inquiry: Inquiry) => void): ReturnType<ObservationSink["open"]> {
    if (!this.#options.mayReportFor(caller, nodeId)) {
      const message = `the caller may not report for \`${nodeId.slice(0, 200)}\`; send the token or certificate of its pod`
      return { code: "PERMISSION_DENIED", message } satisfies Rejection
    }
    const session: Session = { proxy: nodeId, ask, asked: new Map() }
    this.#sessions.set(nodeId, session)
    if (this.#isFollowed(nodeId)) ask({ kind: "follow", on: true })
    return {
      onObservation: observation => this.#onObservation(session, observation),
      closed: () => {
        if (this.#sessions.get(nodeId) === session) this.#sessions.delete(nodeId)
        for (const answer of [...session.asked.values()]) answer(undefined)
      },
    }
  }

  /** Returns a function that stops following. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    this.#announceFollowing()
    return () => {
      this.#followers.delete(follower)
      this.#announceFollowing()
    }
  }

  /** Asks the proxies of the namespace, or all of them. The first that has the decision answers. */
  async find(id: string, namespace: string | undefined): Promise<ProxyDecision | undefined> {
    const sessions = this.#of(namespace)
    return new Promise(resolve => {
      let left = sessions.length
      if (left === 0) resolve(undefined)
      for (const session of sessions) {
        void this.#decisions(session, inquiry => ({ kind: "find", inquiry, id })).then(([found]) => {
          left -= 1
          if (found !== undefined) resolve({ ...found, workload: session.proxy })
          else if (left === 0) resolve(undefined)
        })
      }
    })
  }

  /** Recent decisions, newest first. */
  async recent(namespace: string | undefined, limit: number): Promise<RecentDecisions> {
    const connected = this.#of(namespace)
    const sessions = connected.slice(0, MAX_ASKED)
    const lists = await Promise.all(
      sessions.map(async session => {
        const decisions = await this.#decisions(session, inquiry => ({
          kind: "recent",
          inquiry,
          limit: Math.min(limit, 200),
        }))
        return decisions.map(decision => ({ ...decision, workload: session.proxy }))
      }),
    )
    const decisions = lists
      .flat()
      .sort((a, b) => b.time.localeCompare(a.time))
      .slice(0, limit)
    return { decisions, asked: sessions.length, known: connected.length }
  }

  /** What was called by the workloads whose proxies are wanted. */
  async destinations(wanted: (proxy: string) => boolean): Promise<QueriedDestinations> {
    const known = this.#of(undefined).filter(({ proxy }) => wanted(proxy) && this.#options.takesCalls(proxy))
    const sessions = known.slice(0, MAX_ASKED)
    const lists = await Promise.all(
      sessions.map(async session => {
        const answer = await this.#ask(session, inquiry => ({ kind: "destinations", inquiry }))
        const called = answer?.kind === "destinations" ? answer.destinations : []
        return called.map(one => ({ proxy: session.proxy, called: one }))
      }),
    )
    return { destinations: lists.flat(), asked: sessions.length, known: known.length }
  }

  #of(namespace: string | undefined): readonly Session[] {
    const all = [...this.#sessions.values()]
    return namespace === undefined ? all : all.filter(({ proxy }) => proxy.startsWith(`${namespace}/`))
  }

  async #decisions(session: Session, make: (inquiry: number) => Inquiry): Promise<readonly ObservedDecision[]> {
    const answer = await this.#ask(session, make)
    return answer?.kind === "answer" ? answer.decisions : []
  }

  /** Returns undefined if no answer arrives. */
  #ask(session: Session, make: (inquiry: number) => Inquiry): Promise<Answer | undefined> {
    const inquiry = ++this.#inquiry
    return new Promise(resolve => {
      const answer = (given: Answer | undefined): void => {
        clearTimeout(timer)
        session.asked.delete(inquiry)
        resolve(given)
      }
      // A proxy that does not answer must not delay the others.
      const timer = setTimeout(() => answer(undefined), this.#options.answerMs ?? ANSWER_MS)
      session.asked.set(inquiry, answer)
      session.ask(make(inquiry))
    })
  }

  #onObservation(session: Session, observation: Observation): void {
    switch (observation.kind) {
      case "answer":
      case "destinations":
        session.asked.get(observation.inquiry)?.(observation)
        return
      case "decisions": {
        const decisions = observation.decisions.map(decision => ({ ...decision, workload: session.proxy }))
        for (const follower of [...this.#followers]) {
          if (isOf(session.proxy, follower.namespace)) follower.decided(decisions, observation.leftOut)
        }
        return
      }
      case "calls": {
        const { run, sequence, forgotten } = observation
        const workload = this.#names.of(session.proxy)
        // The called workload is the proxy's own, whatever it reports. The registry decides which workload has an
        // address.
        const calls = observation.calls.map(call => this.#placed(call, workload))
        const rules = this.#uses(calls, namespaceOf(session.proxy))
        const batch: Batch = { proxy: session.proxy, workload, run, sequence, calls, rules, forgotten }
        this.#options.ledger.take(batch, () => session.ask({ kind: "taken", run, sequence }))
        return
      }
      default:
        observation satisfies never
    }
  }

  #placed(call: ObservedCall, workload: string): ObservedCall {
    // Calls from a clock that is ahead would outlive all others.
    const now = this.#options.now()
    const lastSeen = Math.min(call.lastSeen, now)
    const firstSeen = Math.min(call.firstSeen, now)
    const placed: Omit<ObservedCall, "from"> & { from?: string } = { ...call, workload, firstSeen, lastSeen }
    const from = call.address === undefined ? undefined : this.#names.at(call.address)
    if (from === undefined) Reflect.deleteProperty(placed, "from")
    else placed.from = from
    return placed
  }

  /** Rules of policies that can apply to the proxy's namespace. A proxy cannot report uses of other rules. */
  #uses(calls: readonly ObservedCall[], namespace: string): readonly RuleUse[] {
    const { rootNamespace } = this.#options
    return calls.flatMap(({ stage, rule, audit, shadow, count, firstSeen, lastSeen }) => {
      const used = [
        { kind: stage === "token" ? "RequestAuthentication" : "AuthorizationPolicy", rule },
        { kind: "AuthorizationPolicy", rule: audit },
        { kind: "AuthorizationPolicy", rule: shadow?.rule },
      ]
      return used.flatMap(({ kind, rule: one }) => {
        const of = one && namespaceOf(one.policy)
        const stored = one && (of === namespace || of === rootNamespace) && this.#document(kind, one.policy)
        const digest = stored ? rulesOf(stored)[one.rule]?.digest : undefined
        // The policy has changed since, so it is no longer known which rule it was.
        if (digest === undefined || one === undefined) return []
        return [{ policy: `${kind}/${one.policy}`, digest, count, firstSeen, lastSeen }]
      })
    })
  }

  #document(kind: string, policy: string): PolicyDocument | undefined {
    const [namespace = "", name = ""] = policy.split("/")
    return this.#options.policies.items.get(policyKey(kind, namespace, name))?.inForce
  }

  #isFollowed(proxy: string): boolean {
    return [...this.#followers].some(({ namespace }) => isOf(proxy, namespace))
  }

  #announceFollowing(): void {
    for (const { proxy, ask } of this.#sessions.values()) ask({ kind: "follow", on: this.#isFollowed(proxy) })
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"))
}

function isOf(proxy: string, namespace: string | undefined): boolean {
  return namespace === undefined || proxy.startsWith(`${namespace}/`)
}
