// SPDX-License-Identifier: Apache-2.0
import type { ObservedCall } from "@merlon/policy/ledger"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { describe, expect, it } from "vitest"
import type { ProxyRecord } from "../distribution/ledger.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { ObservedSpan } from "./call-ledger.js"
import { readinessOf } from "./readiness.js"

const CALL: ObservedCall = {
  ...{ workload: "foo/web", port: 8080, protocol: "http", method: "GET", path: "/", tls: true },
  ...{ verdict: "allow", stage: "allow", firstSeen: 1_000, lastSeen: 2_000, count: 3 },
}
const plain: ObservedCall = { ...CALL, tls: false, address: "10.0.0.9" }
const strict = {
  ...{ apiVersion: "security.merlon.dev/v1alpha3", kind: "PeerAuthentication" },
  ...{ metadata: { name: "strict", namespace: "foo" }, spec: { mtls: { mode: "STRICT" } } },
} as PolicyDocument

/** The window begins at 500. The first call was at 400, and the ledger counts since before that. */
const WHOLE: ObservedSpan = { since: 100, forgottenUntil: undefined }
const FIRST: ObservedCall = { ...CALL, firstSeen: 400 }

function judged(
  calls: readonly ObservedCall[],
  documents: readonly PolicyDocument[] = [],
  proxied = true,
  observed: ObservedSpan = WHOLE,
) {
  // Only the fields that are read.
  const workload = {
    namespace: "foo",
    name: "web",
    labels: {},
    key: "foo/web",
    owners: [],
    ports: [{ port: 8080 }],
    proxied,
  } as unknown as MeshWorkload
  const [readiness] = readinessOf({
    workloads: [workload],
    documents,
    calls,
    mesh: meshConfig(),
    since: 500,
    now: 86_400_500,
    observed: () => observed,
    proxies: new Map(),
  })
  return [readiness?.state, readiness?.why]
}

it.each([
  ["by mTLS", [FIRST], "ready", "every allowed call used mTLS"],
  ["also in plaintext", [CALL, plain], "waiting", "1 plaintext caller"],
  ["in plaintext and denied", [FIRST, { ...plain, verdict: "deny" }], "ready", "every allowed call used mTLS"],
  ["only with denials", [{ ...plain, verdict: "deny" }], "unknown", "every observed call was denied"],
  ["long ago", [{ ...plain, lastSeen: 400 }], "unknown", "no call was observed"],
  ["not at all", [], "unknown", "no call was observed"],
] as const)("concludes for a workload that was called %s", (_, calls, state, why) => {
  expect(judged(calls)).toEqual([state, expect.stringContaining(why)])
})

it("needs no calls on STRICT ports, and always needs a proxy", () => {
  expect(judged([], [strict])).toEqual(["strict", "every port is STRICT"])
  expect(judged([CALL], [], false)).toEqual(["unknown", expect.stringContaining("enable injection")])
})

it.each([
  ["nothing was forgotten", { since: 100, forgottenUntil: undefined }, "ready"],
  ["something was forgotten before the window", { since: 100, forgottenUntil: 499 }, "ready"],
  ["something was forgotten within the window", { since: 100, forgottenUntil: 500 }, "unknown"],
  ["the ledger began after the window", { since: 501, forgottenUntil: undefined }, "unknown"],
  ["the ledger could not be read", { since: undefined, forgottenUntil: undefined }, "unknown"],
] as const)("concludes for mTLS calls if %s", (_, observed, state) => {
  expect(judged([FIRST], [], true, observed)[0]).toBe(state)
})

it("reports for how much of the window a workload was observed", () => {
  const hourAgo = 86_400_500 - 3_600_000
  const [state, why] = judged([{ ...CALL, firstSeen: hourAgo, lastSeen: hourAgo }])
  expect([state, why]).toEqual(["unknown", "observed only for 1h of 24h"])
})

it("waits for a plaintext caller even if other calls were forgotten", () => {
  expect(judged([plain], [], true, { since: 900, forgottenUntil: 900 })[0]).toBe("waiting")
})

describe("a plaintext caller", () => {
  const pod = (name: string, owner: string, part: Partial<MeshWorkload> = {}) =>
    ({
      ...{ namespace: "foo", name, labels: {}, key: `foo/${name}`, owners: [`Deployment/${owner}`] },
      ...{ ports: owner === "web" ? [{ port: 8080 }] : [], proxied: true, ...part },
    }) as unknown as MeshWorkload // only the fields that are read
  const proxy = (key: string, calls: ProxyRecord["calls"], connectedAt = 1_000): ProxyRecord => ({
    ...{ key, connectedAt, enforced: new Map(), rejection: undefined, signer: undefined, calls },
  })
  const called = { ...plain, from: "foo/shop", lastSeen: 2_000 }

  it.each<[string, readonly MeshWorkload[], readonly ProxyRecord[], string, RegExp]>([
    ["without Pods", [], [], "unknown", /^breaks: not a running workload of the mesh/],
    [
      "with a Pod without a proxy",
      [pod("shop-1", "shop"), pod("shop-2", "shop", { proxied: false })],
      [proxy("foo/shop-1", "captured")],
      "none",
      /^breaks: 1 of its 2 Pods has no proxy; enable injection/,
    ],
    ["whose proxy is not connected", [pod("shop-1", "shop")], [], "none", /^breaks: its Pod has no connected proxy/],
    [
      "whose proxy does not report how it handles calls",
      [pod("shop-1", "shop")],
      [proxy("foo/shop-1", undefined)],
      "none",
      /^breaks: .* enable outbound capture/,
    ],
    [
      "with one proxy that does not report how it handles calls",
      [pod("shop-1", "shop"), pod("shop-2", "shop")],
      [proxy("foo/shop-1", "captured", 9_000), proxy("foo/shop-2", undefined, 9_000)],
      "none",
      /^breaks: 1 of its 2 Pods has no connected proxy/,
    ],
    [
      "with one Pod that is not captured",
      [pod("shop-1", "shop"), pod("shop-2", "shop")],
      [proxy("foo/shop-1", "captured", 9_000), proxy("foo/shop-2", "http_proxy", 9_000)],
      "http_proxy",
      /^breaks unless the program uses `http_proxy`/,
    ],
    [
      "that is captured",
      [pod("shop-1", "shop"), pod("shop-2", "shop")],
      [proxy("foo/shop-1", "captured"), proxy("foo/shop-2", "captured", 2_000)],
      "captured",
      /^uses mTLS by itself/,
    ],
    [
      "that is captured, and has called in plaintext since",
      [pod("shop-1", "shop")],
      [proxy("foo/shop-1", "captured", 1_999)],
      "captured",
      /^breaks: its calls are captured, but it still called in plaintext/,
    ],
  ])("%s blocks readiness, with advice", (_, pods, proxies, calls, advice) => {
    const [readiness] = readinessOf({
      ...{ workloads: [pod("web-1", "web"), ...pods], documents: [], calls: [{ ...called, workload: "foo/web" }] },
      ...{ mesh: meshConfig(), since: 500, now: 86_400_500, observed: () => WHOLE },
      proxies: new Map(proxies.map(one => [one.key, one])),
    })
    expect(readiness).toMatchObject({ state: "waiting", plaintext: [{ from: "foo/shop", calls }] })
    expect(readiness?.plaintext[0]?.advice).toMatch(advice)
    const received = calls === "captured" ? " (now captured)" : ""
    expect(readiness?.why).toBe(`1 plaintext caller${received}`)
  })

  it("is counted separately if captured", () => {
    const calls = [called, { ...called, from: "foo/cron", address: "10.0.0.8" }]
    const [readiness] = readinessOf({
      ...{ workloads: [pod("web-1", "web"), pod("shop-1", "shop")], documents: [], calls, mesh: meshConfig() },
      ...{ since: 500, now: 86_400_500, observed: () => WHOLE },
      proxies: new Map([["foo/shop-1", proxy("foo/shop-1", "captured")]]),
    })
    expect(readiness?.why).toBe("2 plaintext callers (1 now captured)")
  })
})

it("is strict only if every Pod is", () => {
  const pod = (name: string, labels: Record<string, string>) =>
    ({
      namespace: "foo",
      name,
      labels,
      key: `foo/${name}`,
      owners: ["ReplicaSet/web"],
      ports: [{ port: 8080 }],
      proxied: true,
    }) as unknown as MeshWorkload // only the fields that are read
  const selective = {
    ...strict,
    spec: { selector: { matchLabels: { v: "2" } }, mtls: { mode: "STRICT" } },
  } as PolicyDocument
  const [readiness] = readinessOf({
    ...{ workloads: [pod("web-a", { v: "2" }), pod("web-b", { v: "1" })], documents: [selective], calls: [FIRST] },
    ...{ mesh: meshConfig(), since: 500, now: 86_400_500, observed: () => WHOLE, proxies: new Map() },
  })
  expect([readiness?.state, readiness?.ports]).toEqual(["ready", [{ port: 8080, mode: "PERMISSIVE" }]])
})
