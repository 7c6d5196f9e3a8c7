// SPDX-License-Identifier: Apache-2.0
import type { ObservedCall } from "@merlon/policy/ledger"
import { describe, expect, it } from "vitest"
import { document, MESH } from "./testing/documents.js"
import { touchedCalls } from "./touched-calls.js"

const CONSUMER = "spiffe://cluster.local/ns/app/sa/consumer"
const web = { namespace: "foo", name: "web-1", runBy: "web", labels: { app: "web" } }

function call(fields: Partial<ObservedCall>): ObservedCall {
  const seen = { firstSeen: 0, lastSeen: 0, count: 1, verdict: "allow", stage: "default" }
  return {
    workload: "foo/web",
    port: 8080,
    protocol: "http",
    tls: true,
    method: "GET",
    ...seen,
    ...fields,
  } as ObservedCall // the shape in the ledger
}

const policy = (rules: readonly object[]) => document("AuthorizationPolicy", "p", { rules })
const reading = policy([{ to: [{ operation: { methods: ["GET"] } }] }])
const change = (...after: readonly ReturnType<typeof policy>[]) => ({
  ...{ before: [], after, mesh: MESH, now: 1_000, isEnded: () => false },
})

describe("recorded calls that a change affects", () => {
  it("are those that it decides differently, most frequent first, with their sum", () => {
    const calls = [
      call({ caller: CONSUMER, method: "PUT", path: "/items/{*}", count: 3 }),
      call({ caller: CONSUMER, method: "GET", path: "/items/{*}", count: 100 }),
      call({ address: "10.0.0.1", tls: false, method: "POST", path: "/{**}", count: 5 }),
    ]
    expect(touchedCalls(calls, [web], change(reading))).toEqual({
      untried: 0,
      calls: 8,
      shapes: [
        {
          ...{ caller: "10.0.0.1", workload: "foo/web", method: "POST", path: "/{**}", count: 5 },
          from: "allow",
          to: "deny",
        },
        {
          ...{ caller: CONSUMER, workload: "foo/web", method: "PUT", path: "/items/{*}", count: 3 },
          from: "allow",
          to: "deny",
        },
      ],
    })
  })

  it("may be connections of which only the caller is known", () => {
    const own = policy([{ from: [{ source: { principals: ["cluster.local/ns/app/sa/other"] } }] }])
    const { method: _, ...tcp } = call({ caller: CONSUMER, protocol: "tcp" })
    expect(touchedCalls([tcp], [web], change(own))).toMatchObject({ calls: 1, shapes: [{ method: "TCP" }] })
  })

  it("are reported with what is recorded, such as only the issuer of a token", () => {
    const issuer = "https://issuer.example"
    const jwtRules = [{ issuer, jwksUri: `${issuer}/keys` }]
    const tokens = document("RequestAuthentication", "t", { jwtRules })
    const asked = policy([{ from: [{ source: { requestPrincipals: [`${issuer}/*`] } }] }])
    const calls = [call({ caller: CONSUMER, issuer, path: "/a" }), call({ caller: CONSUMER, path: "/b" })]
    expect(touchedCalls(calls, [web], change(tokens, asked)).shapes.map(({ path }) => path)).toEqual(["/b"])
  })

  it("exclude unaffected workloads and calls that could not be sent", () => {
    const calls = [call({ workload: "foo/other", method: "PUT" }), call({ caller: "no identity", method: "PUT" })]
    expect(touchedCalls(calls, [web], change(reading))).toEqual({ calls: 0, shapes: [], untried: 0 })
  })

  it("are counted as not tried once time is up", () => {
    let asked = 0
    const ended = { ...change(reading), isEnded: () => ++asked > 1 }
    const other = call({ workload: "foo/other", count: 9 })
    const calls = [call({ method: "PUT", count: 3 }), other, call({ method: "POST" }), call({ method: "DELETE" })]
    expect(touchedCalls(calls, [web], ended)).toMatchObject({ calls: 3, shapes: [{ method: "PUT" }], untried: 2 })
  })
})
