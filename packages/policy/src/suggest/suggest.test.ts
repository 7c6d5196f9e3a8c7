// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { allow, policy, workload } from "../authorization/testing/requests.js"
import type { ObservedCall } from "../ledger/call.js"
import { meshConfig } from "../mesh/config.js"
import { meshNames } from "../mesh/names.js"
import type { PolicyDocument } from "../resources/document.js"
import { validate } from "../resources/validate.js"
import { type SuggestOptions, suggestPolicies } from "./suggest.js"

const mesh = meshConfig()
const OPTIONS: SuggestOptions = { now: 1_790_000_000 }
const seen = (call: Partial<ObservedCall> = {}): ObservedCall => ({
  caller: "spiffe://cluster.local/ns/app/sa/consumer",
  workload: "foo/httpbin-1",
  port: 8080,
  protocol: "http",
  method: "GET",
  path: "/get",
  tls: true,
  verdict: "allow",
  stage: "default",
  firstSeen: 1_000,
  lastSeen: 2_000,
  count: 3,
  ...call,
})
const suggest = (calls: readonly ObservedCall[], documents: readonly PolicyDocument[] = []) =>
  suggestPolicies(calls, documents, [{ ...workload, ports: [8080, 9090] }], mesh, OPTIONS)
const verdicts = (calls: readonly ObservedCall[], documents?: readonly PolicyDocument[]) =>
  suggest(calls, documents).map(({ proofs }) => Object.values(proofs).map(({ verdict }) => verdict))

describe("a suggestion", () => {
  it("allows exactly the observed calls, in shadow mode, for this workload only", () => {
    const [suggestion] = suggest([
      seen(),
      seen({ method: "POST", path: "/orders/{*}" }),
      seen({ method: "GET", path: "/orders/{*}" }),
      seen({ caller: "spiffe://cluster.local/ns/ops/sa/probe", path: "/health" }),
    ])
    expect(suggestion?.policy.spec).toEqual({
      selector: { matchLabels: { app: "httpbin" } },
      enforcement: "Shadow",
      action: "ALLOW",
      rules: [
        {
          from: [{ source: { principals: ["cluster.local/ns/app/sa/consumer"] } }],
          to: [
            { operation: { ports: ["8080"], methods: ["GET", "POST"], paths: ["/orders/{*}"] } },
            { operation: { ports: ["8080"], methods: ["GET"], paths: ["/get"] } },
          ],
        },
        {
          from: [{ source: { principals: ["cluster.local/ns/ops/sa/probe"] } }],
          to: [{ operation: { ports: ["8080"], methods: ["GET"], paths: ["/health"] } }],
        },
      ],
    })
    expect(suggestion?.evidence).toEqual({ shapes: 4, calls: 12, firstSeen: 1_000, lastSeen: 2_000, leftOut: 0 })
    expect(suggestion?.proofs).toEqual({
      keeps: { verdict: "proved" },
      addsNothing: { verdict: "proved" },
      asSeen: { verdict: "proved" },
    })
  })

  it("has one rule for all callers that made the same calls", () => {
    const [suggestion] = suggest(
      ["a", "b", "c"].map(name => seen({ caller: `spiffe://cluster.local/ns/x/sa/${name}` })),
    )
    expect(suggestion?.policy.spec.rules).toHaveLength(1)
  })

  it("names callers without identity by address, and leaves out unknown ones", () => {
    const { caller: _, ...plain } = seen({ tls: false, address: "10.0.0.7" })
    const [suggestion] = suggest([plain, { ...plain, address: "*" }])
    expect(suggestion?.policy.spec.rules?.[0]?.from).toEqual([
      { source: { notPrincipals: ["*"], ipBlocks: ["10.0.0.7"] } },
    ])
    expect(suggestion?.evidence.leftOut).toBe(1)
  })

  it("is also proved against the current policies, and compared with them", () => {
    const today = allow({ to: [{ operation: { paths: ["/get", "/admin"] } }] })
    expect(verdicts([seen()], [today])).toEqual([["proved", "proved", "proved"]])
    expect(suggest([seen()], [today])[0]?.replaces).toEqual(["foo/allow"])
  })

  it("is refuted if a template allows more than the current policies", () => {
    const today = allow({ to: [{ operation: { paths: ["/orders/1"] } }] })
    const [suggestion] = suggest([seen({ path: "/orders/{*}" })], [today])
    expect(suggestion?.proofs.addsNothing).toEqual({
      verdict: "refuted",
      why: expect.stringContaining("it would newly allow GET /orders/{*}"),
    })
  })

  it("uses only calls that were allowed", () => {
    expect(suggest([seen({ verdict: "deny", stage: "allow" })])).toEqual([])
    expect(suggest([seen({ workload: "foo/other" })])).toEqual([])
  })

  it("names the other workloads that no label distinguishes", () => {
    const twin = { ...workload, name: "twin" }
    const [suggestion] = suggestPolicies([seen()], [], [workload, twin], mesh, OPTIONS)
    expect(suggestion?.alsoSelects).toEqual(["foo/twin"])
  })

  it("counts a DENY as a current policy", () => {
    const denied = policy("denied", {
      action: "DENY",
      rules: [{ when: [{ key: "request.headers[x]", values: ["1"] }] }],
    })
    expect(verdicts([seen()], [denied])).toEqual([["proved", "proved", "proved"]])
  })
})

const calls = fc.array(
  fc
    .record({
      caller: fc.constantFrom("a", "b", "c", undefined),
      address: fc.constantFrom("10.0.0.1", "10.0.0.2", "2001:db8::1"),
      port: fc.constantFrom(8080, 9090),
      tcp: fc.nat(5),
      method: fc.constantFrom("GET", "POST", "PUT", "*"),
      path: fc.constantFrom("/", "/a", "/a/{*}", "/a/{*}/b", "/{**}", "/b"),
    })
    .map(({ caller, address, port, tcp, method, path }): ObservedCall => {
      const { caller: _, method: __, path: ___, ...rest } = seen({ port })
      return {
        ...rest,
        ...(caller === undefined ? { tls: false, address } : { caller: `spiffe://cluster.local/ns/x/sa/${caller}` }),
        ...(tcp === 0 ? { protocol: "tcp" } : { method, path }),
      }
    }),
  { minLength: 1, maxLength: 12 },
)

it("is valid and proved for any observed calls of a workload without policies", {
  timeout: 120_000 * inject("effort"),
}, () => {
  fc.assert(
    fc.property(calls, list => {
      for (const { policy: suggested, proofs } of suggest(list)) {
        expect(validate(structuredClone(suggested), mesh.names).errors).toEqual([])
        expect(Object.values(proofs)).toEqual([{ verdict: "proved" }, { verdict: "proved" }, { verdict: "proved" }])
      }
    }),
    { numRuns: 30 * inject("effort"), interruptAfterTimeLimit: 60_000 * inject("effort") },
  )
})

describe("a suggestion for the proxy of an Istio Gateway", () => {
  const istio = meshConfig({ names: meshNames({ mesh: "istio", domain: "istio.io" }), dialect: "istio" })
  const cart = { kind: "Service", namespace: "shop", name: "cart" } as const

  it.each([
    ["a gateway", { name: "g", isWaypoint: false }, "foo", { kind: "Gateway", name: "g" }],
    ["a waypoint", { name: "g", isWaypoint: true }, "foo", { kind: "Gateway", name: "g" }],
    ["a Service", { name: "g", isWaypoint: true, target: cart }, "shop", { kind: "Service", name: "cart" }],
  ])("targets %s, because a waypoint ignores selectors", (_, gateway, namespace, target) => {
    const call = gateway.isWaypoint ? seen() : seen({ caller: "", tls: false })
    const [suggestion] = suggestPolicies([call], [], [{ ...workload, gateway }], istio, OPTIONS)
    expect(suggestion?.policy.metadata).toMatchObject({ namespace, name: `${target.name}-observed` })
    expect(suggestion?.policy.spec.selector).toBeUndefined()
    expect(suggestion?.policy.spec.targetRefs).toMatchObject([target])
    if (gateway.isWaypoint) expect(suggestion?.proofs.keeps.verdict).toBe("proved")
  })
})
