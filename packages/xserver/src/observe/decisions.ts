// SPDX-License-Identifier: Apache-2.0
// The last decisions, for `explain` by id. For a denial, the attributes are kept with the program that judged it, so
// that the explanation can be computed on request; for an allowed request, only the summary.

import { explain, type Program, type RuleRef, ruleName, type Trace } from "@merlon/policy/authorization"
import type { Attributes } from "@merlon/policy/request"
import type { RequestRecord } from "./meters.js"
import { MAX_TEXT, ownText, shortText } from "./own-text.js"
import { reasonOf, ruleOf, shadowOf } from "./reason.js"

export interface DecisionSummary {
  readonly time: string
  readonly id: string | undefined
  readonly verdict: "allow" | "deny"
  readonly stage: string | undefined
  readonly protocol: string
  /** The application port. */
  readonly port: number
  readonly method: string
  readonly path: string
  readonly status: number
  readonly peer: string | undefined
  readonly source: string
  /** `namespace/name[0]`, if a rule decided. */
  readonly rule: string | undefined
  readonly reason: string | undefined
  readonly shadow: string | undefined
  /**
   * Every policy, rule and field; only for denials by authorization, while the program that decided is still in memory.
   */
  readonly explanation: Trace | undefined
}

type Evidence = { readonly program: WeakRef<Program>; readonly attributes: Attributes }

// INVARIANT: holds no more of the message than copies of bounded length, and no program: a judgement would keep the
// request's headers and its program alive, and a substring its whole parent. Entries are overwritten instead of
// replaced: objects that outlive their request are expensive for garbage collection.
class Kept {
  time = 0
  id: string | undefined
  verdict: DecisionSummary["verdict"] = "deny"
  stage: string | undefined
  protocol = ""
  port = 0
  method = ""
  path = ""
  status = 0
  peer: string | undefined
  source = ""
  rule: Pick<RuleRef, "policy" | "rule"> | undefined
  reason: string | undefined
  shadow: string | undefined
  // A weak reference: a thousand denials must not keep a thousand replaced programs alive.
  evidence: Evidence | undefined

  write(record: RequestRecord, program: Program | undefined): void {
    const { judgement, path } = record
    const reason = reasonOf(judgement)
    this.time = Date.now()
    this.id = record.decisionId
    this.verdict = judgement?.verdict ?? "deny"
    this.stage = judgement?.stage
    this.protocol = record.protocol
    this.port = record.port
    this.method = shortText(record.method)
    this.path = shortText(path)
    this.status = record.status
    this.peer = record.peer
    this.source = record.source
    this.rule = ruleOf(judgement)
    this.reason = reason && ownText(reason)
    this.shadow = shadowOf(judgement)
    this.evidence = evidenceOf(record, program)
  }

  /** `explained` adds the explanation, which costs as much as judging the request again. */
  describe(explained: boolean): DecisionSummary {
    const { time, evidence, rule, ...summary } = this
    const program = evidence?.program.deref()
    return {
      time: new Date(time).toISOString(),
      ...summary,
      rule: rule && ruleName(rule),
      explanation: explained && evidence && program ? explain(program, evidence.attributes) : undefined,
    }
  }
}

const CAPACITY = 1_000
/** Headers are the peer's choice, so their copies have a bound. */
const MAX_HEADER_CHARACTERS = 4_096

export class Decisions {
  readonly #kept: Kept[] = []
  #next = 0

  /** `program`: the one that denied the request, if it was denied. */
  add(record: RequestRecord, program: Program | undefined): Kept {
    let kept = this.#kept[this.#next]
    if (kept === undefined) {
      kept = new Kept()
      this.#kept.push(kept)
    }
    kept.write(record, program)
    this.#next = (this.#next + 1) % CAPACITY
    return kept
  }

  /** Newest first. */
  list(): readonly DecisionSummary[] {
    const newestFirst = [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse()
    return newestFirst.map(kept => kept.describe(true))
  }

  find(id: string): DecisionSummary | undefined {
    return this.#kept.find(kept => kept.id === id)?.describe(true)
  }
}

function evidenceOf({ judgement }: RequestRecord, program: Program | undefined): Evidence | undefined {
  if (program === undefined || judgement?.verdict !== "deny" || !("attributes" in judgement)) return undefined
  const attributes = bounded(judgement.attributes, program)
  return attributes && { program: new WeakRef(program), attributes }
}

/** Copies, with only the headers that some rule reads: only those matter to an explanation. */
function bounded(attributes: Attributes, program: Program): Attributes | undefined {
  const { http, remoteIp } = attributes
  if (http === undefined) return attributes
  const { host, path, query } = http
  if ((host ?? "").length + path.length + query.length > MAX_TEXT) return undefined
  let left = MAX_HEADER_CHARACTERS
  const headers = new Map<string, readonly string[]>()
  for (const name of askedHeaders(program, attributes)) {
    const lines = http.headers.get(name)
    const size = (lines ?? []).reduce((sum, line) => sum + line.length, 0)
    if (lines === undefined || size > left) continue
    left -= size
    headers.set(name, lines.map(ownText))
  }
  return {
    ...attributes,
    // Behind trusted proxies the address is a substring of a header.
    remoteIp: { ...remoteIp, text: ownText(remoteIp.text) },
    http: {
      ...http,
      host: host === undefined ? undefined : ownText(host),
      path: ownText(path),
      query: ownText(query),
      headers,
    },
  }
}

// Computed once per program: denied callers must not make the proxy walk through all rules each time.
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
