// SPDX-License-Identifier: Apache-2.0
// Counts calls by their shape. A request costs one key and one look into a map; what a shape is in full is found out when
// it is new, and told when somebody asks. Callers choose paths, methods and addresses, so each of them has a bound.

import {
  type CallRule,
  CallSet,
  type CallShape,
  type CallStage,
  PathTemplates,
  type RuleRef,
  type SeenCall,
} from "@merlon/policy"
import type { RequestRecord } from "./meters.js"
import { type Judged, ruleOf } from "./reason.js"

/** What was seen since it was last asked for. */
export interface CallReport {
  readonly calls: readonly SeenCall[]
  /** Shapes that were let go for others. */
  readonly forgotten: number
}

interface Tally {
  readonly shape: CallShape
  firstSeen: number
  lastSeen: number
  count: number
}

const MAX_KNOWN = 2_048
const MAX_SHAPES = 1_024
const MAX_ADDRESSES = 256
const MAX_METHODS = 32
/** A longer path costs more as a key than as its template. */
const LONG_PATH = 256
const MAX_METHOD = 24
const METHOD = /^[A-Z-]+$/
const TOO_MANY = "*"

export class CallCounter {
  readonly #tallies = new Map<string, Tally>()
  /** The same by paths as they came, so that a path that came before is not made a template again. */
  readonly #known = new Map<string, Tally>()
  #folded = new CallSet(MAX_SHAPES)
  readonly #templates = new PathTemplates()
  readonly #addresses = new Set<string>()
  readonly #methods = new Set<string>()
  #workload: string

  /** `namespace/name` of whom the proxy stands in front of. */
  constructor(workload: string) {
    this.#workload = workload
  }

  count(record: RequestRecord, now: number): void {
    const isLong = record.path.length > LONG_PATH
    const came = isLong ? "" : this.#key(record, record.path)
    let tally = isLong ? undefined : this.#known.get(came)
    if (tally === undefined) {
      tally = this.#tally(record, now)
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      if (!isLong) this.#known.set(came, tally)
    }
    if (tally.count === 0) tally.firstSeen = now
    tally.lastSeen = now
    tally.count++
  }

  #tally(record: RequestRecord, now: number): Tally {
    const key = this.#key(record, this.#templates.of(pathOf(record)))
    const known = this.#tallies.get(key)
    if (known !== undefined) return known
    if (this.#tallies.size >= MAX_SHAPES) this.#fold()
    const tally = { shape: this.#shape(record), firstSeen: now, lastSeen: now, count: 0 }
    this.#tallies.set(key, tally)
    return tally
  }

  /** Begins to count anew. */
  take(): CallReport {
    for (const tally of this.#tallies.values()) {
      if (tally.count > 0) this.#folded.add(seen(tally))
      tally.count = 0
    }
    const report = { calls: [...this.#folded.values()], forgotten: this.#folded.forgotten }
    this.#folded = new CallSet(MAX_SHAPES)
    return report
  }

  #fold(): void {
    for (const tally of this.#tallies.values()) if (tally.count > 0) this.#folded.add(seen(tally))
    this.#tallies.clear()
    this.#known.clear()
  }

  #key({ judgement, protocol, method, peer, source, port }: RequestRecord, path: string): string {
    const who = peer ?? source
    const what = protocol === "tcp" ? "" : path
    // Strangers choose methods too, and keys are kept.
    const how = method.length > MAX_METHOD ? TOO_MANY : method
    const request = `${who}\n${port}\n${how}\n${what}\n`
    if (judgement === undefined) return request
    const end = `${request}${judgement.verdict}\n${judgement.stage}\n${idOf(ruleOf(judgement))}`
    if (!("decision" in judgement)) return end
    const { audit, shadow } = judgement.decision
    const issuer = issuerOf(judgement)
    if (audit === undefined && shadow === undefined && issuer === undefined) return end
    return `${end}\n${idOf(audit)}\n${shadow?.verdict}\n${idOf(shadow?.rule)}\n${issuer}`
  }

  #shape(record: RequestRecord): CallShape {
    const { judgement, protocol, peer, source, port } = record
    const decision = judgement !== undefined && "decision" in judgement ? judgement.decision : undefined
    const issuer = judgement && issuerOf(judgement)
    const shadow = decision?.shadow
    const stage: CallStage = judgement?.stage ?? "message"
    return {
      ...(peer === undefined ? { address: bounded(this.#addresses, source, MAX_ADDRESSES) } : { caller: copy(peer) }),
      workload: this.#workload,
      port,
      protocol: protocol === "tcp" ? "tcp" : "http",
      ...(protocol === "tcp" ? {} : this.#request(record)),
      tls: peer !== undefined,
      ...(issuer === undefined ? {} : { issuer }),
      verdict: judgement?.verdict ?? "deny",
      stage,
      ...named("rule", judgement && ruleOf(judgement)),
      ...named("audit", decision?.audit),
      ...(shadow === undefined ? {} : { shadow: { verdict: shadow.verdict, ...named("rule", shadow.rule) } }),
    }
  }

  #request(record: RequestRecord): { readonly method: string; readonly path: string } {
    const { method } = record
    return {
      method:
        method.length <= MAX_METHOD && METHOD.test(method) ? bounded(this.#methods, method, MAX_METHODS) : TOO_MANY,
      path: copy(this.#templates.of(pathOf(record))),
    }
  }
}

/** What was judged is the normalised path; what was never judged is told as it came. */
function pathOf({ judgement, path }: RequestRecord): string {
  const attributes = judgement !== undefined && "attributes" in judgement ? judgement.attributes : undefined
  return attributes?.http?.path ?? path
}

type Named = Pick<RuleRef, "policy" | "rule">

function idOf(rule: Named | undefined): string {
  return rule === undefined ? "" : `${rule.policy.namespace}/${rule.policy.name}/${rule.rule}`
}

function named<K extends string>(name: K, rule: Named | undefined): { readonly [P in K]?: CallRule } {
  if (rule === undefined) return {}
  const { namespace, name: policy } = rule.policy
  return { [name]: { policy: `${namespace}/${policy}`, rule: rule.rule } } as { readonly [P in K]?: CallRule } // computed keys widen
}

/** Only of a token that was verified: its issuer is one that a policy in force names. */
function issuerOf(judgement: Judged): string | undefined {
  return "attributes" in judgement ? judgement.attributes.token?.issuer : undefined
}

function bounded(known: Set<string>, value: string, maximum: number): string {
  if (known.has(value)) return value
  if (known.size >= maximum || value === "") return TOO_MANY
  const own = copy(value)
  known.add(own)
  return own
}

function seen({ shape, firstSeen, lastSeen, count }: Tally): SeenCall {
  return { ...shape, firstSeen, lastSeen, count }
}

/** A piece of a text may keep the whole text alive. */
function copy(text: string): string {
  return Buffer.from(text).toString()
}
