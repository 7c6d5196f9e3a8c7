// SPDX-License-Identifier: Apache-2.0
import { meshConfig, type PolicyDocument, type SeenCall } from "@merlon/policy"
import { expect, it } from "vitest"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { readinessOf } from "./readiness.js"

const CALL: SeenCall = {
  ...{ workload: "foo/web", port: 8080, protocol: "http", method: "GET", path: "/", tls: true },
  ...{ verdict: "allow", stage: "allow", firstSeen: 1_000, lastSeen: 2_000, count: 3 },
}
const plain: SeenCall = { ...CALL, tls: false, address: "10.0.0.9" }
const strict = {
  ...{ apiVersion: "security.merlon.dev/v1alpha3", kind: "PeerAuthentication" },
  ...{ metadata: { name: "strict", namespace: "foo" }, spec: { mtls: { mode: "STRICT" } } },
} as PolicyDocument

function judged(calls: readonly SeenCall[], documents: readonly PolicyDocument[] = [], proxied = true) {
  // Of a workload as much as is looked at.
  const workload = {
    namespace: "foo",
    name: "web",
    labels: {},
    key: "foo/web",
    owners: [],
    ports: [{ port: 8080 }],
    proxied,
  } as unknown as MeshWorkload
  const [readiness] = readinessOf({ workloads: [workload], documents, calls, mesh: meshConfig(), since: 500 })
  return [readiness?.state, readiness?.why]
}

it.each([
  ["by mutual TLS", [CALL], "ready", "every call that was let in came by mutual TLS"],
  ["also in plaintext", [CALL, plain], "waiting", "1 caller comes in plaintext"],
  ["in plaintext and refused", [CALL, { ...plain, verdict: "deny" }], "ready", "every call that was let in"],
  ["and all were refused", [{ ...plain, verdict: "deny" }], "unknown", "every call was refused, so nobody can say"],
  ["long ago", [{ ...plain, lastSeen: 400 }], "unknown", "nobody called"],
  ["not at all", [], "unknown", "nobody called"],
] as const)("of a workload that was called %s", (_, calls, state, why) => {
  expect(judged(calls)).toEqual([state, expect.stringContaining(why)])
})

it("needs no calls where mutual TLS alone is taken, and a proxy before anything else", () => {
  expect(judged([], [strict])[0]).toBe("strict")
  expect(judged([CALL], [], false)).toEqual(["unknown", expect.stringContaining("inject one first")])
})
