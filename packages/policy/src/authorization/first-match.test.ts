// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import type { Attributes } from "../request/attributes.js"
import { attributeTable } from "./attributes.js"
import { Criterion } from "./criterion.js"
import { type Candidate, FirstMatch, type Need } from "./first-match.js"
import { httpRequest } from "./testing/requests.js"

const header = (name: string, ...values: string[]): Criterion => {
  const attribute = attributeTable(new Set()).condition(`request.headers[${name}]`)
  if (attribute === undefined) throw new RangeError(name)
  return new Criterion(name, attribute, false, values)
}

/** Holds if all criteria do; counts how often it is evaluated and how often its needs are read. */
class Counted implements Candidate {
  asked = 0
  looked = 0

  constructor(
    readonly criteria: readonly Criterion[],
    readonly also: () => boolean = () => true,
  ) {}

  get needs(): readonly Need[] {
    this.looked++
    return this.criteria
  }

  holds(attributes: Attributes): boolean {
    this.asked++
    return this.criteria.every(criterion => criterion.holds(attributes)) && this.also()
  }
}

const many = (count: number, make: (n: number) => Counted) => Array.from({ length: count }, (_, n) => make(n))
const total = (candidates: readonly Counted[], what: "asked" | "looked") =>
  candidates.reduce((sum, candidate) => sum + candidate[what], 0)

describe("finding the first of many candidates", () => {
  it("tries only those that share a value with the request", () => {
    const candidates = many(1_000, n => new Counted([header("a", `v${n}`)]))
    expect(new FirstMatch(candidates).find(httpRequest({ headers: { a: ["v700"] } }))).toBe(candidates[700])
    expect(total(candidates, "asked")).toBe(1)
  })

  it("finds the first in order, wherever it is indexed", () => {
    const candidates = [
      ...many(10, n => new Counted([header("a", `v${n}`)])),
      ...many(10, n => new Counted([header("b", `v${n}`)])),
      ...many(10, () => new Counted([])),
    ]
    const first = new FirstMatch(candidates)
    expect(first.find(httpRequest({ headers: { b: ["v3"], a: ["v9"] } }))).toBe(candidates[9])
    expect(first.find(httpRequest({ headers: { b: ["v3"] } }))).toBe(candidates[13])
    expect(first.find(httpRequest())).toBe(candidates[20])
  })

  it("prefers an earlier unindexed candidate to a later indexed one", () => {
    const candidates = [new Counted([]), ...many(20, n => new Counted([header("a", `v${n}`)]))]
    expect(new FirstMatch(candidates).find(httpRequest({ headers: { a: ["v3"] } }))).toBe(candidates[0])
  })

  it("tries each only once, even if many header lines match it", () => {
    const candidates = many(50, n => new Counted([header("a", `v${n % 5}*`)], () => false))
    const lines = Array.from({ length: 200 }, (_, n) => `v1${n}`)
    expect(new FirstMatch(candidates).find(httpRequest({ headers: { a: lines } }))).toBeUndefined()
    expect(total(candidates, "asked")).toBe(10)
  })

  it("is built in linear work, however many attributes there are", () => {
    const spread = many(3_000, n => new Counted([header(`a${Math.floor(n / 3)}`, `v${n}`)]))
    new FirstMatch(spread)
    expect(total(spread, "looked")).toBeLessThan(10 * spread.length)

    const lists = many(6, n => new Counted(["a", "b", "c"].map(name => header(name, ...values(n, 300)))))
    new FirstMatch(lists)
    expect(total(lists, "looked")).toBeLessThan(10 * 6 * 900)
  })

  const values = (n: number, count: number) => Array.from({ length: count }, (_, at) => `v${at + n}`)
})

describe("a search is not affected", () => {
  const request = (...a: string[]) => httpRequest({ headers: { a } })

  it("by a nested search", () => {
    let deep = 0
    const candidates = many(20, n => new Counted([header("a", `v${n}`)]))
    const again: Candidate = {
      needs: [header("a", "again")],
      holds() {
        if (deep++ === 0) first.find(request("v19"))
        return false
      },
    }
    const first: FirstMatch<Candidate> = new FirstMatch<Candidate>([again, ...candidates])
    expect(first.find(request("again", "v3"))).toBe(candidates[3])
    expect(deep).toBe(1)
  })

  it("by an earlier search that threw", () => {
    let broken = true
    const candidates = many(20, n => new Counted([header("a", `v${n}`)]))
    const throwing: Candidate = {
      needs: [header("a", "v5")],
      holds() {
        if (broken) throw new Error("unreadable")
        return false
      },
    }
    const first = new FirstMatch<Candidate>([...candidates, throwing])
    expect(first.find(request("v4"))).toBe(candidates[4])
    const thrower = new FirstMatch<Candidate>([throwing, ...candidates])
    expect(() => thrower.find(request("v5"))).toThrow("unreadable")
    broken = false
    expect(thrower.find(request("v6"))).toBe(candidates[6])
    expect(thrower.find(request("none"))).toBeUndefined()
  })
})

it("returns candidates that share a value with the request, up to the limit", () => {
  const candidates = many(40, n => new Counted([header("a", `v${n % 4}`)], () => false))
  const first = new FirstMatch(candidates)
  const asked = httpRequest({ headers: { a: ["v1", "v1", "v2"] } })
  expect(first.reachable(asked, 100).length).toBe(20)
  expect(first.reachable(asked, 7).length).toBe(7)
})
