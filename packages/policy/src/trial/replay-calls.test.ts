// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { allow, naming, policy, workload } from "../authorization/testing/requests.js"
import type { ObservedCall } from "../ledger/call.js"
import { meshConfig } from "../mesh/config.js"
import type { PolicyDocument } from "../resources/document.js"
import { touchedCalls } from "./replay-calls.js"

const seen = (call: Partial<ObservedCall>): ObservedCall => ({
  caller: "spiffe://cluster.local/ns/a/sa/b",
  workload: "foo/httpbin-1",
  port: 8080,
  protocol: "http",
  method: "GET",
  path: "/a/{*}",
  tls: true,
  verdict: "allow",
  stage: "default",
  firstSeen: 0,
  lastSeen: 0,
  count: 5,
  ...call,
})
const touched = (before: readonly PolicyDocument[], after: readonly PolicyDocument[], ...calls: ObservedCall[]) =>
  touchedCalls(before, after, workload, meshConfig(), calls, 1_790_000_000)
const onlyA = allow({ to: [{ operation: { paths: ["/a/{**}"] } }] })

it("counts the calls that a change decides differently, by direction", () => {
  expect(touched([], [onlyA], seen({}), seen({ path: "/b" }), seen({ path: "/c/{**}", count: 2 }))).toEqual([
    { from: "allow", to: "deny", shapes: 2, calls: 7 },
  ])
  expect(touched([onlyA], [], seen({ path: "/b" }))).toEqual([{ from: "deny", to: "allow", shapes: 1, calls: 5 }])
})

it("judges identities, addresses, tokens and TCP as recorded", () => {
  const principal = policy("p", { rules: [{ from: [{ source: { principals: ["cluster.local/ns/a/sa/b"] } }] }] })
  const issuer = policy("i", { rules: [{ from: [{ source: { requestPrincipals: ["https://i.example/*"] } }] }] })
  const { caller: _, method: __, path: ___, ...plain } = seen({ tls: false, address: "10.0.0.7", protocol: "tcp" })
  expect(touched([], [principal], seen({}), plain)).toEqual([{ from: "allow", to: "deny", shapes: 1, calls: 5 }])
  const tokens = naming(["https://i.example"])
  expect(touched([tokens], [tokens, issuer], seen({ issuer: "https://i.example" }))).toEqual([])
  expect(touched([tokens], [tokens, issuer], seen({}))).toHaveLength(1)
})

it("counts none if none is given", () => {
  expect(touched([], [onlyA])).toEqual([])
})
