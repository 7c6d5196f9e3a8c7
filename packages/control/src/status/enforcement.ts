// SPDX-License-Identifier: Apache-2.0
// Counts how many of the proxies that must enforce a document do, as they report. Kept as a tally, so that an
// acknowledgement costs one comparison and not a scan of all proxies.

import { type Enforcer, enforcerOf, type ProxyRecord } from "../distribution/ledger.js"

export type ProxyStanding = "enforcing" | "waiting" | "disconnected" | "rejected"

/** Versions by name on the wire: what a proxy must have acknowledged. */
export type ExpectedVersions = ReadonlyMap<string, string>

export interface EnforcementCount {
  /** Number of proxies, including authorizers. */
  readonly proxies: number
  readonly enforcing: number
  /** How many of the proxies are authorizers. */
  readonly authorizers: { readonly all: number; readonly enforcing: number }
  readonly waiting: readonly string[]
  readonly disconnected: readonly string[]
  readonly rejected: readonly string[]
  /** The first rejection, in the proxy's own words. */
  readonly rejection: { readonly proxy: string; readonly message: string } | undefined
}

export function standingOf(record: ProxyRecord | undefined, expected: ExpectedVersions): ProxyStanding {
  if (record === undefined) return "disconnected"
  let current = true
  let rejected = false
  for (const [name, version] of expected) {
    if (record.enforced.get(name)?.version !== version) current = false
    if (record.rejection?.resources.has(name)) rejected = true
  }
  if (current) return "enforcing"
  return rejected ? "rejected" : "waiting"
}

export class EnforcementTally {
  readonly #expected: ExpectedVersions
  readonly #proxies: (key: string) => ProxyRecord | undefined
  readonly #declared: (key: string) => Enforcer | undefined
  readonly #standings = new Map<string, ProxyStanding>()
  #enforcing = 0

  constructor(
    expected: ExpectedVersions,
    proxied: Iterable<string>,
    proxies: (key: string) => ProxyRecord | undefined,
    declared: (key: string) => Enforcer | undefined = () => undefined,
  ) {
    this.#expected = expected
    this.#proxies = proxies
    this.#declared = declared
    for (const key of proxied) this.#set(key)
  }

  get complete(): boolean {
    return this.#standings.size > 0 && this.#enforcing === this.#standings.size
  }

  /** Adds or removes a proxy to wait for. Returns whether the status may change. */
  place(key: string, counts: boolean): boolean {
    if (counts) return this.#set(key)
    if (this.#standings.get(key) === "enforcing") this.#enforcing--
    return this.#standings.delete(key)
  }

  /**
   * Returns whether the status may change, also if only the message of a rejection differs; undefined if the proxy does
   * not count here.
   */
  update(key: string): boolean | undefined {
    const before = this.#standings.get(key)
    return before === undefined ? undefined : this.#revise(key, before)
  }

  count(): EnforcementCount {
    const named: { readonly [S in Exclude<ProxyStanding, "enforcing">]: string[] } = {
      waiting: [],
      disconnected: [],
      rejected: [],
    }
    const authorizers = { all: 0, enforcing: 0 }
    for (const [key, standing] of this.#standings) {
      if (standing !== "enforcing") named[standing].push(key)
      if (enforcerOf(this.#proxies(key), this.#declared(key)) !== "authorizer") continue
      authorizers.all++
      if (standing === "enforcing") authorizers.enforcing++
    }
    const first = named.rejected[0]
    const message = first === undefined ? undefined : this.#proxies(first)?.rejection?.message
    return {
      proxies: this.#standings.size,
      enforcing: this.#enforcing,
      authorizers,
      ...named,
      rejection: first === undefined || message === undefined ? undefined : { proxy: first, message },
    }
  }

  #set(key: string): boolean {
    return this.#revise(key, this.#standings.get(key))
  }

  #revise(key: string, before: ProxyStanding | undefined): boolean {
    const standing = standingOf(this.#proxies(key), this.#expected)
    if (before === standing) return standing === "rejected"
    if (before === "enforcing") this.#enforcing--
    if (standing === "enforcing") this.#enforcing++
    this.#standings.set(key, standing)
    return true
  }
}
