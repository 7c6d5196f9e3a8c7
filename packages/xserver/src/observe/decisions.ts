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

// INVARIANT: holds nothing of the message but copies of bounded length, and no program: a judgement would keep alive
// the request's headers and the program it was judged by, a piece of a text the whole text.
interface Kept {
  readonly time: number
  readonly summary: Omit<DecisionSummary, "time" | "explanation">
  // A program that is no longer in force may go: a thousand refusals must not keep a thousand programs alive.
  readonly evidence: { readonly program: WeakRef<Program>; readonly attributes: Attributes } | undefined
}

const CAPACITY = 1_000
/** What the peer chose is kept up to this length; an explanation needs all of it, so beyond it there is none. */
const MAX_TEXT = 2_048
/** Headers are the peer's choice, so what is kept of them has a bound. */
const MAX_HEADER_CHARACTERS = 4_096

export class Decisions {
  readonly #kept: (Kept | undefined)[] = new Array(CAPACITY)
  #next = 0

  /** `program` is the one that refused, where there was one. */
  add(record: RequestRecord, program: Program | undefined): void {
    this.#kept[this.#next] = { time: Date.now(), summary: summaryOf(record), evidence: evidenceOf(record, program) }
    this.#next = (this.#next + 1) % CAPACITY
  }

  /** Newest first. */
  list(): readonly DecisionSummary[] {
    const newestFirst = [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse()
    return newestFirst.flatMap(kept => (kept === undefined ? [] : describe(kept)))
  }

  find(id: string): DecisionSummary | undefined {
    const kept = this.#kept.find(candidate => candidate?.summary.id === id)
    return kept && describe(kept)
  }
}

function describe({ time, summary, evidence }: Kept): DecisionSummary {
  const program = evidence?.program.deref()
  return {
    time: new Date(time).toISOString(),
    ...summary,
    explanation: evidence && program && explain(program, evidence.attributes),
  }
}

function summaryOf(record: RequestRecord): Kept["summary"] {
  const { judgement, decisionId, protocol, method, path, status, peer, source } = record
  const reason = reasonOf(judgement)
  return {
    id: decisionId,
    verdict: judgement?.verdict ?? "deny",
    stage: judgement?.stage,
    protocol,
    method,
    path: path.length > MAX_TEXT ? `${copy(path.slice(0, MAX_TEXT))}…` : copy(path),
    status,
    peer,
    source,
    reason: reason && copy(reason),
    shadow: shadowOf(judgement),
  }
}

function evidenceOf({ judgement }: RequestRecord, program: Program | undefined): Kept["evidence"] {
  if (program === undefined || judgement?.verdict !== "deny" || !("attributes" in judgement)) return undefined
  const attributes = bounded(judgement.attributes, program)
  return attributes && { program: new WeakRef(program), attributes }
}

/** Copies, with the headers that some rule asks about: only those matter to an explanation. */
function bounded(attributes: Attributes, program: Program): Attributes | undefined {
  const { http } = attributes
  if (http === undefined) return attributes
  const { host, path, query } = http
  if (host.length + path.length + query.length > MAX_TEXT) return undefined
  let left = MAX_HEADER_CHARACTERS
  const headers = new Map<string, readonly string[]>()
  for (const name of askedHeaders(program, attributes)) {
    const lines = http.headers.get(name)
    const size = (lines ?? []).reduce((sum, line) => sum + line.length, 0)
    if (lines === undefined || size > left) continue
    left -= size
    headers.set(name, lines.map(copy))
  }
  return { ...attributes, http: { ...http, host: copy(host), path: copy(path), query: copy(query), headers } }
}

// Found once per program: whoever is refused must not make us walk through all rules each time.
const ASKED = new WeakMap<Program, ReadonlySet<string>>()

function askedHeaders(program: Program, attributes: Attributes): ReadonlySet<string> {
  const known = ASKED.get(program)
  if (known !== undefined) return known
  const asked = new Set<string>()
  for (const policy of program.authorization.policies(attributes)) {
    for (const { from, to, when } of policy.rules) {
      for (const { attribute } of [...from.flat(), ...to.flat(), ...when]) {
        const name = /^request\.headers\[(.+)\]$/.exec(attribute.name)?.[1]
        if (name !== undefined) asked.add(name)
      }
    }
  }
  ASKED.set(program, asked)
  return asked
}

/** A text of its own: V8 lets a piece share the text it was cut from, which here is a whole head. */
function copy(text: string): string {
  return Buffer.from(text).toString()
}
