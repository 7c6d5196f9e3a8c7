// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import type { Destination, ObservedCall } from "../../api/answers.js"
import type { Pod } from "../../api/objects.js"
import { edgesOf, neighbours, placesIn, unseenByOthers } from "./edges.js"

const EARLY = "2026-01-01T00:00:00.000Z"
const LATE = "2026-01-02T00:00:00.000Z"

function call(fields: Partial<ObservedCall>): ObservedCall {
  const seen = { firstSeen: EARLY, lastSeen: EARLY, count: 1 }
  const shape = { workload: "foo/httpbin", port: 80, protocol: "http", tls: false, verdict: "allow", stage: "default" }
  return { ...shape, ...seen, ...fields } as ObservedCall // the fields that are read
}

const mtls = { caller: "spiffe://cluster.local/ns/app/sa/consumer", tls: true }
const consumer: Pod = { metadata: { name: "consumer-1", namespace: "app" }, spec: { serviceAccountName: "consumer" } }

describe("an edge", () => {
  it("sums up what one called another, by verdict and transport", () => {
    const calls = [
      call({ ...mtls, count: 3 }),
      call({ ...mtls, count: 2, verdict: "deny" }),
      call({ from: "app/consumer-1", count: 4 }),
    ]
    expect(edgesOf(calls, [consumer])).toEqual([
      {
        ...{ from: "app/consumer", to: "foo/httpbin", allowed: 7, refused: 2, plaintext: 4 },
        ...{ plaintextUntil: EARLY, isMtls: false },
      },
    ])
  })

  it("is what its last call was, in either direction", () => {
    const before = call({ from: "app/consumer-1" })
    expect(edgesOf([before, call({ ...mtls, lastSeen: LATE })], [consumer])).toMatchObject([
      { isMtls: true, plaintextUntil: EARLY },
    ])
    expect(edgesOf([call({ ...mtls }), { ...before, lastSeen: LATE }], [consumer])).toMatchObject([{ isMtls: false }])
  })

  it("begins where a plaintext caller is known by its address alone, or not at all", () => {
    expect(edgesOf([call({ address: "10.0.0.1" }), call({})], [consumer]).map(({ from }) => from)).toEqual([
      "10.0.0.1",
      "somebody",
    ])
  })

  it("is found by the name of what runs a Pod", () => {
    const pod = { metadata: { name: "web-6d4-x", namespace: "app" }, spec: { serviceAccountName: "site" } }
    expect(edgesOf([call({ from: "app/web" })], [pod])[0]?.from).toBe("app/site")
  })
})

it("shows a namespace or one workload with whom it has to do, and no name that only begins alike", () => {
  const edge = (from: string, to: string) => ({ from, to, allowed: 1, refused: 0, plaintext: 0, isMtls: true })
  const edges = [edge("a/x", "b/y"), edge("b/y", "c/z"), edge("ab/x", "c/z")]
  expect(neighbours(edges, "b/y")).toEqual(edges.slice(0, 2))
  expect(neighbours(edges, "a")).toEqual(edges.slice(0, 1))
  expect(placesIn(edges)).toEqual([
    { place: "c/z", calls: 2 },
    { place: "b/y", calls: 1 },
  ])
})

it("leaves to the caller's word what no other proxy has told of", () => {
  const called: Destination = {
    ...{ workload: "app/shop", destination: "httpbin.foo:80", place: "mesh", to: "foo/httpbin", transport: "mtls" },
    ...{ count: 3, failures: 0, lastSeen: LATE },
  }
  const failed = { ...called, failures: 1 }
  const bare: Destination = { ...called, place: "cluster", to: "old/db", transport: "passthrough" }
  const outside: Destination = { ...called, workload: "app/web", place: "outside", transport: "none" }
  const all = [called, failed, bare, outside]
  expect(unseenByOthers(all, undefined)).toEqual([failed, bare, outside])
  expect(unseenByOthers(all, "app/shop")).toEqual([failed, bare])
  expect(unseenByOthers(all, "old")).toEqual([bare])
})
