// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it, test } from "vitest"
import type { ProxyRecord } from "../distribution/ledger.js"
import { EnforcementTally, type ProxyStanding, standingOf } from "./enforcement.js"

const record = (enforced: object, rejected?: string[]): ProxyRecord => ({
  key: "foo/a",
  connectedAt: 0,
  enforced: new Map(Object.entries(enforced).map(([name, version]) => [name, { version }])),
  rejection: rejected && { revision: 1, message: "bad", resources: new Set(rejected) },
  signer: undefined,
})
const expected = new Map([
  ["policy/p", "2"],
  ["keys/k", "1"],
])

test.each<[string, ProxyRecord | undefined, ProxyStanding]>([
  ["is not connected", undefined, "disconnected"],
  ["has nothing yet", record({}), "waiting"],
  ["has the old policy", record({ "policy/p": "1", "keys/k": "1" }), "waiting"],
  ["has the policy but not its keys", record({ "policy/p": "2" }), "waiting"],
  ["has both", record({ "policy/p": "2", "keys/k": "1", "policy/q": "9" }), "enforcing"],
  ["rejected it", record({ "policy/p": "1", "keys/k": "1" }, ["policy/p"]), "rejected"],
  ["rejected its keys", record({ "policy/p": "2" }, ["keys/k"]), "rejected"],
  ["rejected something else", record({ "policy/p": "1" }, ["policy/q"]), "waiting"],
  ["rejected it once and enforces it now", record({ "policy/p": "2", "keys/k": "1" }, ["policy/p"]), "enforcing"],
])("classifies a proxy that %s", (_, proxy, standing) => {
  expect(standingOf(proxy, expected)).toBe(standing)
})

it("counts the same incrementally as at once", () => {
  const proxies = ["a", "b", "c", "d"]
  const versions = fc.constantFrom("1", "2", undefined)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...proxies, "stranger"), versions)), changes => {
      const records = new Map<string, ProxyRecord>()
      const make = () => new EnforcementTally(new Map([["p", "2"]]), proxies, key => records.get(key))
      const tally = make()
      for (const [key, version] of changes) {
        if (version === undefined) records.delete(key)
        else records.set(key, record({ p: version }))
        tally.update(key)
        expect(tally.count()).toEqual(make().count())
        expect(tally.complete).toBe(tally.count().enforcing === 4)
      }
    }),
  )
})

it("counts authorizers as they report, or as their Pods declare until they connect", () => {
  const records = new Map<string, ProxyRecord>([
    ["xserver", record({ p: "2" })],
    ["authorizer", { ...record({ p: "2" }), enforcer: "authorizer" }],
    ["behind", { ...record({ p: "1" }), enforcer: "authorizer" }],
  ])
  const declared = (key: string) => (key === "missing" ? "authorizer" : undefined)
  const keys = [...records.keys(), "missing"]
  const { proxies, enforcing, authorizers } = new EnforcementTally(
    new Map([["p", "2"]]),
    keys,
    key => records.get(key),
    declared,
  ).count()
  expect([proxies, enforcing, authorizers]).toEqual([4, 2, { all: 3, enforcing: 1 }])
})

it("is never complete without proxies", () => {
  expect(new EnforcementTally(expected, [], () => undefined).complete).toBe(false)
})
