// SPDX-License-Identifier: Apache-2.0
// Counts calls by their shape. A request of a known shape costs two map lookups and builds no text: one by its caller,
// and one by its path or, if the path has an identifier, by where its template ends. The full shape is computed when it
// is new and reported on request. Callers choose paths, methods and addresses, so each has a bound.

import {
  type CallRule,
  CallSet,
  type CallShape,
  type CallStage,
  type ObservedCall,
  PathTemplates,
  type TemplatePlace,
} from "@merlon/policy/ledger"
import { isAlike, issuerOf, keyOf, methodOf, type Named, TOO_MANY, type Traits, traitsOf } from "./call-traits.js"
import type { RequestRecord } from "./meters.js"
import { ownText } from "./own-text.js"
import { ruleOf } from "./reason.js"

/** Calls since the previous report. */
export interface CallReport {
  readonly calls: readonly ObservedCall[]
  /** Shapes that were dropped to make room for others. */
  readonly forgotten: number
}

interface Tally {
  readonly shape: CallShape
  firstSeen: number
  lastSeen: number
  count: number
}

interface Known extends Traits {
  readonly tally: Tally
}

const MAX_KNOWN = 2_048
/**
 * Entries of one caller and path. They are searched one by one; calls beyond the limit compute their shape each time.
 */
const MAX_ALIKE = 16
const MAX_SHAPES = 1_024
const MAX_ADDRESSES = 256
const MAX_METHODS = 32
/** A longer path costs more as a key than its template does. */
const LONG_PATH = 256
const METHOD = /^[A-Z-]+$/

export class CallCounter {
  readonly #tallies = new Map<string, Tally>()
  /**
   * The same tallies by caller, and then by path if the path is its own template, or else by where the template ends.
   */
  readonly #known = new Map<string, Map<string | TemplatePlace, Known[]>>()
  #knownCount = 0
  #folded = new CallSet(MAX_SHAPES)
  readonly #templates = new PathTemplates()
  readonly #addresses = new Set<string>()
  readonly #methods = new Set<string>()
  #workload: string

  /** `namespace/name` of the proxied workload. */
  constructor(workload: string) {
    this.#workload = workload
  }

  count(record: RequestRecord, now: number): void {
    const tally = this.#knownTally(record) ?? this.#newTally(record, now)
    if (tally.count === 0) tally.firstSeen = now
    tally.lastSeen = now
    tally.count++
  }

  #knownTally(record: RequestRecord): Tally | undefined {
    const paths = this.#known.get(record.peer ?? record.source)
    if (paths === undefined) return undefined
    const alike = paths.get(record.protocol === "tcp" ? "" : record.path) ?? this.#placed(paths, record)
    if (alike === undefined) return undefined
    for (const known of alike) if (isAlike(known, record)) return known.tally
    return undefined
  }

  #placed(paths: ReadonlyMap<string | TemplatePlace, Known[]>, record: RequestRecord): Known[] | undefined {
    const place = record.protocol === "tcp" ? undefined : this.#templates.placeOf(pathOf(record))
    return place && paths.get(place)
  }

  #newTally(record: RequestRecord, now: number): Tally {
    const tally = this.#tally(record, now)
    if (record.path.length > LONG_PATH) return tally
    if (this.#knownCount >= MAX_KNOWN) this.#forgetKnown()
    const paths = entryOf(this.#known, record.peer ?? record.source, () => new Map<string | TemplatePlace, Known[]>())
    const alike = entryOf<string | TemplatePlace, Known[]>(paths, this.#pathKey(record, tally), () => [])
    if (alike.length < MAX_ALIKE) {
      alike.push({ ...traitsOf(record), tally })
      this.#knownCount++
    }
    return tally
  }

  /** A path with an identifier may never occur again, but its template occurs with every identifier. */
  #pathKey(record: RequestRecord, { shape }: Tally): string | TemplatePlace {
    if (record.protocol === "tcp") return ""
    const judged = pathOf(record)
    return (shape.path === judged ? undefined : this.#templates.placeOf(judged)) ?? record.path
  }

  #forgetKnown(): void {
    this.#known.clear()
    this.#knownCount = 0
  }

  #tally(record: RequestRecord, now: number): Tally {
    const key = keyOf(record, this.#templates.of(pathOf(record)))
    const known = this.#tallies.get(key)
    if (known !== undefined) return known
    if (this.#tallies.size >= MAX_SHAPES) this.#fold()
    const tally = { shape: this.#shape(record), firstSeen: now, lastSeen: now, count: 0 }
    this.#tallies.set(key, tally)
    return tally
  }

  /** Returns the counts and starts from zero. */
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
    this.#forgetKnown()
  }

  #shape(record: RequestRecord): CallShape {
    const { judgement, protocol, peer, source, port } = record
    const decision = judgement !== undefined && "decision" in judgement ? judgement.decision : undefined
    const issuer = judgement && issuerOf(judgement)
    const shadow = decision?.shadow
    const stage: CallStage = judgement?.stage ?? "message"
    return {
      ...(peer === undefined
        ? { address: bounded(this.#addresses, source, MAX_ADDRESSES) }
        : { caller: ownText(peer) }),
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
      method: METHOD.test(methodOf(method)) ? bounded(this.#methods, method, MAX_METHODS) : TOO_MANY,
      path: ownText(this.#templates.of(pathOf(record))),
    }
  }
}

/** Text keys are copied, because a substring keeps its parent in memory. */
function entryOf<K, T>(map: Map<K | string, T>, key: K | string, make: () => T): T {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(typeof key === "string" ? ownText(key) : key, made)
  return made
}

/** The normalised path, which was judged; if nothing was judged, the path as received. */
function pathOf({ judgement, path }: RequestRecord): string {
  const attributes = judgement !== undefined && "attributes" in judgement ? judgement.attributes : undefined
  return attributes?.http?.path ?? path
}

function named<K extends string>(name: K, rule: Named | undefined): { readonly [P in K]?: CallRule } {
  if (rule === undefined) return {}
  const { namespace, name: policy } = rule.policy
  return { [name]: { policy: `${namespace}/${policy}`, rule: rule.rule } } as { readonly [P in K]?: CallRule } // computed keys widen
}

function bounded(known: Set<string>, value: string, maximum: number): string {
  if (known.has(value)) return value
  if (known.size >= maximum || value === "") return TOO_MANY
  const own = ownText(value)
  known.add(own)
  return own
}

function seen({ shape, firstSeen, lastSeen, count }: Tally): ObservedCall {
  return { ...shape, firstSeen, lastSeen, count }
}
