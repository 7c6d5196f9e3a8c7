// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import type { Destination, ObservedCall } from "../../api/answers.js"
import type { Pod } from "../../api/objects.js"
import { collapsed, edgesOf, neighbours, unseenByOthers } from "./edges.js"
import { OUTSIDE, Services } from "./services.js"

const EARLY = "2026-01-01T00:00:00.000Z"
const LATE = "2026-01-02T00:00:00.000Z"

function call(fields: Partial<ObservedCall>): ObservedCall {
  const seen = { firstSeen: EARLY, lastSeen: EARLY, count: 1 }
  const shape = { workload: "foo/httpbin", port: 80, protocol: "http", tls: false, verdict: "allow", stage: "default" }
  return { ...shape, ...seen, ...fields } as ObservedCall // has the fields that the functions read
}

const pod = (key: string, account: string, app?: string): Pod => {
  const [namespace = "", name = ""] = key.split("/")
  return { metadata: { name, namespace, ...(app && { labels: { app } }) }, spec: { serviceAccountName: account } }
}
const identity = (namespace: string, account: string) => `spiffe://cluster.local/ns/${namespace}/sa/${account}`
const mtls = { caller: identity("app", "consumer"), tls: true }
const services = new Services([pod("app/consumer-1", "consumer"), pod("foo/httpbin-6d4-x", "httpbin")])

describe("an edge", () => {
  it("sums up calls by verdict and transport, with the caller's identity or its workload", () => {
    const calls = [
      call({ ...mtls, count: 3 }),
      call({ ...mtls, count: 2, verdict: "deny" }),
      call({ from: "app/consumer-1", count: 4 }),
    ]
    expect(edgesOf(calls, services)).toMatchObject([
      {
        ...{ from: "app/consumer", to: "foo/httpbin", allowed: 7, denied: 2, plaintext: 4 },
        ...{ plaintextUntil: EARLY, isMtls: false },
      },
    ])
  })

  it("has the transport of its last call", () => {
    const before = call({ from: "app/consumer-1" })
    expect(edgesOf([before, call({ ...mtls, lastSeen: LATE })], services)).toMatchObject([
      { isMtls: true, plaintextUntil: EARLY },
    ])
    expect(edgesOf([call({ ...mtls }), { ...before, lastSeen: LATE }], services)).toMatchObject([{ isMtls: false }])
  })

  it("starts outside the mesh if the caller has neither an identity nor a known workload", () => {
    expect(edgesOf([call({ address: "10.0.0.1" }), call({})], services).map(({ from }) => from)).toEqual([OUTSIDE])
  })
})

it("joins a chain of calls: a workload and its identity are one node", () => {
  const chain = [
    call({ workload: "shop/cart-1", tls: true, caller: identity("shop", "frontend") }),
    call({ workload: "shop/payment-7f-z", tls: true, caller: identity("shop", "cart") }),
  ]
  const shop = new Services([pod("shop/cart-1", "cart"), pod("shop/payment-7f-z", "payment")])
  expect(edgesOf(chain, shop).map(({ from, to }) => `${from} > ${to}`)).toEqual([
    "shop/cart > shop/payment",
    "shop/frontend > shop/cart",
  ])
})

test.each([
  ["a Deployment's Pods by its name", "foo/httpbin", "foo/httpbin"],
  ["a Pod", "app/consumer-1", "app/consumer"],
  ["a workload that is gone, under its own name", "gone/web", "gone/web"],
])("finds %s", (_, workload, service) => {
  expect(services.ofWorkload(workload)).toBe(service)
})

it("distinguishes services of the default account by label, and maps the identity of a single one to it", () => {
  const shared = new Services([
    pod("a/x-1", "default", "x"),
    pod("a/y-1", "default", "y"),
    pod("b/z-1", "default", "z"),
  ])
  expect(shared.ofWorkload("a/x-1")).toBe("a/x")
  expect(shared.ofCaller({ caller: identity("a", "default") })).toBe("a/default")
  expect(shared.ofCaller({ caller: identity("b", "default") })).toBe("b/z")
})

it("shows a namespace or one service with its neighbours, but no namespace with the same prefix", () => {
  const edge = (from: string, to: string) => edgesOf([call({ workload: to, from })], new Services([]))
  const edges = [...edge("a/x", "b/y"), ...edge("b/y", "c/z"), ...edge("ab/x", "c/z")]
  expect(neighbours(edges, "b/y")).toEqual(edges.slice(0, 2))
  expect(neighbours(edges, "a")).toEqual(edges.slice(0, 1))
})

it("draws a collapsed namespace as one node and sums up its edges", () => {
  const none = new Services([])
  const edges = edgesOf(
    [
      call({ from: "a/x", workload: "b/y" }),
      call({ from: "a/x", workload: "b/z", count: 2 }),
      call({ from: "b/y", workload: "b/z" }),
    ],
    none,
  )
  expect(collapsed(edges, new Set(["b"]))).toMatchObject([{ from: "a/x", to: "namespace:b", allowed: 3 }])
})

it("lists calls that only the caller's proxy reported, of a service or a namespace", () => {
  const called: Destination = {
    ...{
      workload: "app/consumer-1",
      destination: "httpbin.foo:80",
      place: "mesh",
      to: "foo/httpbin",
      transport: "mtls",
    },
    ...{ count: 3, failures: 0, lastSeen: LATE },
  }
  const failed = { ...called, failures: 1 }
  const bare: Destination = { ...called, place: "cluster", to: "old/db", transport: "passthrough" }
  const outside: Destination = { ...called, workload: "app/web", place: "outside", transport: "none" }
  const all = [called, failed, bare, outside]
  expect(unseenByOthers(all, undefined, services)).toEqual([failed, bare, outside])
  expect(unseenByOthers(all, "app/consumer", services)).toEqual([failed, bare])
  expect(unseenByOthers(all, "old", services)).toEqual([bare])
})
