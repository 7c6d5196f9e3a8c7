// SPDX-License-Identifier: Apache-2.0
// The last decisions, for `explain` by id. Of a refusal the attributes are kept with the program that judged it, so that
// the explanation can be made when somebody asks; of what was let through only the summary.

import { type Attributes, explain, type Program, type Trace } from "@merlon/policy"
import type { RequestRecord } from "./meters.js"
import { reasonOf, shadowOf } from "./reason.js"

export interface DecisionSummary {
  readonly time: string
  readonly id: string | undefined
  readonly verdict: "allow" | "deny"
  readonly stage: string | undefined
  readonly protocol: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly peer: string | undefined
  readonly source: string
  readonly reason: string | undefined
  readonly shadow: string | undefined
  /** Every policy, rule and field; of refusals by authorization, while the program that refused is still around. */
  readonly explanation: Trace | undefined
}

interface Kept {
  readonly time: number
  readonly record: RequestRecord
  // A program that is no longer in force may go: a thousand refusals must not keep a thousand programs alive.
  readonly evidence: { readonly program: WeakRef<Program>; readonly attributes: Attributes } | undefined
}

const CAPACITY = 1_000
/** Headers are the peer's choice, so what is kept of them has a bound. */
const MAX_HEADER_CHARACTERS = 4_096

export class Decisions {
  readonly #kept: (Kept | undefined)[] = new Array(CAPACITY)
  #next = 0

  add(record: RequestRecord, program: Program): void {
    const { judgement } = record
    const refused = judgement?.verdict === "deny" && "attributes" in judgement
    const evidence = refused
      ? { program: new WeakRef(program), attributes: withBoundedHeaders(judgement.attributes, program) }
      : undefined
    this.#kept[this.#next] = { time: Date.now(), record: refused ? record : summaryOnly(record), evidence }
    this.#next = (this.#next + 1) % CAPACITY
  }

  /** Newest first. */
  list(): readonly DecisionSummary[] {
    const newestFirst = [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse()
    return newestFirst.flatMap(kept => (kept === undefined ? [] : describe(kept)))
  }

  find(id: string): DecisionSummary | undefined {
    const kept = this.#kept.find(candidate => candidate?.record.decisionId === id)
    return kept && describe(kept)
  }
}

function describe({ time, record, evidence }: Kept): DecisionSummary {
  const { judgement, decisionId, protocol, method, path, status, peer, source } = record
  const program = evidence?.program.deref()
  return {
    time: new Date(time).toISOString(),
    id: decisionId,
    verdict: judgement?.verdict ?? "deny",
    stage: judgement?.stage,
    protocol,
    method,
    path,
    status,
    peer,
    source,
    reason: reasonOf(judgement),
    shadow: shadowOf(judgement),
    explanation: evidence && program && explain(program, evidence.attributes),
  }
}

// What was allowed keeps no attributes alive: a thousand requests' headers would be the peers' to size.
function summaryOnly(record: RequestRecord): RequestRecord {
  const { judgement } = record
  if (judgement === undefined || !("attributes" in judgement)) return record
  const { verdict, stage, decision } = judgement
  return verdict === "allow" ? { ...record, judgement: { verdict, stage, decision } } : record
}

/** Only headers that some rule asks about matter to an explanation. */
function withBoundedHeaders(attributes: Attributes, program: Program): Attributes {
  const { http } = attributes
  if (http === undefined) return attributes
  const asked = new Set<string>()
  for (const policy of program.authorization.policies(attributes)) {
    for (const { from, to, when } of policy.rules) {
      for (const { attribute } of [...from.flat(), ...to.flat(), ...when]) {
        const name = /^request\.headers\[(.+)\]$/.exec(attribute.name)?.[1]
        if (name !== undefined) asked.add(name)
      }
    }
  }
  let left = MAX_HEADER_CHARACTERS
  const headers = new Map<string, readonly string[]>()
  for (const name of asked) {
    const lines = http.headers.get(name)
    const size = (lines ?? []).reduce((sum, line) => sum + line.length, 0)
    if (lines === undefined || size > left) continue
    left -= size
    headers.set(name, lines)
  }
  return { ...attributes, http: { ...http, headers } }
}
