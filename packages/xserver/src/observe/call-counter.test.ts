// SPDX-License-Identifier: Apache-2.0
// Counted calls: shapes with their rules, nothing of the message, and bounded in number.

import type { Judgement } from "@merlon/policy/authorization"
import { describe, expect, it } from "vitest"
import { CallCounter } from "./call-counter.js"
import type { RequestRecord } from "./meters.js"

const RULE = { policy: { namespace: "foo", name: "viewer" }, rule: 0, id: "ns[foo]-policy[viewer]-rule[0]" }

function record(part: Partial<RequestRecord> = {}): RequestRecord {
  const judgement = {
    verdict: "allow",
    stage: "allow",
    attributes: { http: { path: "/normalised/7" }, token: { issuer: "https://issuer.example" } },
    decision: { verdict: "allow", stage: "allow", rule: RULE, audit: undefined, shadow: undefined },
  } as unknown as Judgement // only the fields that the counter reads
  return {
    protocol: "http/1.1",
    judgement,
    decisionId: undefined,
    requestId: undefined,
    method: "GET",
    host: "httpbin.foo",
    path: "/raw/7",
    status: 200,
    bytesReceived: 0,
    bytesSent: 0,
    durationMs: 1,
    peer: "spiffe://cluster.local/ns/app/sa/consumer",
    source: "127.1.0.3",
    port: 8080,
    upstreamFailure: undefined,
    ...part,
  }
}

describe("a call", () => {
  it("is counted by its caller, what was judged, and the rule that decided it", () => {
    const counter = new CallCounter("foo/httpbin-1")
    counter.count(record(), 10)
    counter.count(record(), 30)
    expect(counter.take()).toEqual({
      calls: [
        {
          caller: "spiffe://cluster.local/ns/app/sa/consumer",
          ...{ workload: "foo/httpbin-1", port: 8080, protocol: "http", method: "GET", path: "/normalised/{*}" },
          ...{ tls: true, issuer: "https://issuer.example", verdict: "allow", stage: "allow" },
          rule: { policy: "foo/viewer", rule: 0 },
          ...{ firstSeen: 10, lastSeen: 30, count: 2 },
        },
      ],
      forgotten: 0,
    })
  })

  it("is reported once, and counted from zero afterwards", () => {
    const counter = new CallCounter("foo/httpbin-1")
    counter.count(record(), 10)
    counter.take()
    expect(counter.take().calls).toEqual([])
    counter.count(record(), 50)
    expect(counter.take().calls).toMatchObject([{ firstSeen: 50, count: 1 }])
  })

  it("without identity has its address, and a connection has neither method nor path", () => {
    const counter = new CallCounter("foo/httpbin-1")
    const judgement = { verdict: "deny", stage: "transport", mode: "STRICT", reply: undefined } as const
    counter.count(record({ peer: undefined, protocol: "tcp", method: "", path: "", judgement }), 1)
    const [call] = counter.take().calls
    expect(call).toMatchObject({
      address: "127.1.0.3",
      tls: false,
      protocol: "tcp",
      verdict: "deny",
      stage: "transport",
    })
    expect(call).not.toHaveProperty("method")
    expect(call).not.toHaveProperty("path")
  })

  it("is counted separately from every other, also when both are known", () => {
    const counter = new CallCounter("foo/httpbin-1")
    const other = { policy: { namespace: "foo", name: "other" }, rule: 0 }
    const judged = (attributes: object, part: object) =>
      ({ ...record().judgement, attributes, decision: { ...decided, ...part } }) as unknown as Judgement // as above
    const token = { http: { path: "/raw/7" } }
    const decided = { verdict: "allow", stage: "allow", rule: RULE, audit: undefined, shadow: undefined }
    const apart = [
      record({ judgement: judged(token, {}) }),
      ...[
        { port: 8081 },
        { method: "PUT" },
        { path: "/raw/seven" },
        { peer: "spiffe://cluster.local/ns/app/sa/other" },
      ].map(part => record({ judgement: judged({ http: { path: part.path ?? "/raw/7" } }, {}), ...part })),
      record({ judgement: judged({ ...token, token: { issuer: "https://other.example" } }, {}) }),
      ...[
        { rule: other },
        { rule: { ...RULE, rule: 1 } },
        { rule: { ...RULE, policy: { namespace: "bar", name: "viewer" } } },
        { rule: undefined },
        { audit: other },
        { shadow: { verdict: "deny", rule: other } },
        { shadow: { verdict: "deny", rule: undefined } },
        { shadow: { verdict: "allow", rule: other } },
      ].map(part => record({ judgement: judged(token, part) })),
      record({ judgement: { ...judged(token, {}), verdict: "deny" } as Judgement }),
      record({ judgement: { ...judged(token, {}), stage: "deny" } as unknown as Judgement }),
      record({ judgement: undefined }),
    ]
    for (let round = 0; round < 3; round++) for (const call of apart) counter.count(structuredClone(call), round)
    expect(counter.take().calls.map(({ count }) => count)).toEqual(apart.map(() => 3))
  })

  it("of a template is counted by its template, and separately from others", () => {
    const counter = new CallCounter("foo/httpbin-1")
    const call = (path: string, part: Partial<RequestRecord> = {}) =>
      counter.count(record({ judgement: undefined, path, ...part }), 1)
    for (let n = 0; n < 5_000; n++) {
      call(`/orders/${n}/items`)
      if (n % 10 === 0) call(`/orders/${n}`)
      if (n % 100 === 0) call(`/orders/${n}/items`, { method: "PUT" })
      if (n % 1_000 === 0) call("/orders/all/items")
    }
    const received = counter.take().calls.map(({ method, path, count }) => [method, path, count])
    expect(received).toEqual([
      ["GET", "/orders/{*}/items", 5_000],
      ["GET", "/orders/{*}", 500],
      ["PUT", "/orders/{*}/items", 50],
      ["GET", "/orders/all/items", 5],
    ])
    call("/orders/1/items")
    expect(counter.take().calls).toMatchObject([{ path: "/orders/{*}/items", count: 1 }])
  })

  it("that could not be parsed as a request counts as a message", () => {
    const counter = new CallCounter("foo/httpbin-1")
    counter.count(record({ judgement: undefined, method: "\u0000<", path: "/x" }), 1)
    expect(counter.take().calls).toMatchObject([{ stage: "message", verdict: "deny", method: "*", path: "/x" }])
  })
})

describe("hostile calls", () => {
  it("with many paths, methods and addresses have a bounded number of shapes", () => {
    const counter = new CallCounter("foo/httpbin-1")
    for (let n = 0; n < 20_000; n++) {
      const word = n.toString(26).replaceAll(/\d/g, digit => String.fromCharCode(113 + Number(digit)))
      const judgement = undefined
      counter.count(
        record({
          judgement,
          peer: undefined,
          source: `10.0.${n % 256}.${n % 7}`,
          path: `/${word}/${word}`,
          method: word.toUpperCase(),
        }),
        n,
      )
    }
    const { calls } = counter.take()
    expect(calls.length).toBeLessThanOrEqual(1_024)
    expect(new Set(calls.map(({ method }) => method)).size).toBeLessThanOrEqual(33)
    expect(new Set(calls.map(({ address }) => address)).size).toBeLessThanOrEqual(257)
  })

  it("with long paths are counted by a template", () => {
    const counter = new CallCounter("foo/httpbin-1")
    for (let n = 0; n < 3; n++)
      counter.count(record({ judgement: undefined, path: `/files/${"x".repeat(8_000)}${n}` }), n)
    expect(counter.take().calls).toMatchObject([{ path: "/files/{*}", count: 3 }])
  })
})
