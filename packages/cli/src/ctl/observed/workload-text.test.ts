// SPDX-License-Identifier: Apache-2.0
// The description of a workload as text and JSON. `npx vitest run -u` rewrites the files.

import type { MeshService } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import type { Fields } from "../foreign.js"
import type { Observation } from "./answers-api.js"
import type { WorkloadDescription } from "./describe-workload.js"
import { hostTraffic } from "./host-traffic.js"
import { workloadJson, workloadText } from "./workload-text.js"

const NOW = Date.parse("2026-11-16T12:00:00Z")
const [first, last] = ["2026-11-14T12:00:00Z", "2026-11-16T11:55:00Z"]
const seen = (name: string, spec: Fields): Observation => ({ namespace: "foo", name, spec })

const proxy = {
  ...{ connectedAt: first, revision: 7, resources: 4, behind: 0, lagMs: 0, version: "1.2.3" },
  ...{ certificateNotAfter: "2026-11-17T10:00:00Z", calls: "captured" },
}
const older = { policy: "foo/young", why: "an older policy of the same namespace scope wins (`foo/old`)" }
const port = { protocol: "http", mode: "STRICT", why: "`foo/old` sets it for its namespace", policy: "foo/old" }
const WORKLOAD = seen("web", {
  workload: "foo/web",
  identity: "spiffe://cluster.local/ns/foo/sa/web",
  labels: { app: "web", tier: "front" },
  services: ["web"],
  pods: [
    { name: "web-1", address: "10.0.0.1", ready: true, proxied: true, proxy, udp: { ports: [53], handling: "passed" } },
    { name: "web-2", ready: false, proxied: true, bypass: "hostNetwork", udp: { ports: [53], handling: "refused" } },
    { name: "web-3", address: "10.0.0.3", ready: true, proxied: false, leaving: true },
  ],
  otherwise: ["web-3"],
  ports: [
    { port: 8080, ...port, scope: "namespace", losers: [older] },
    { port: 9090, ...port, mode: "PERMISSIVE", shadow: "STRICT", losers: [older] },
  ],
  policies: [
    { stage: "transport", kind: "PeerAuthentication", policy: "foo/old", enforcement: "Enforce", rules: 0 },
    { stage: "deny", kind: "AuthorizationPolicy", policy: "merlon-system/closed", enforcement: "Enforce", rules: 2 },
    { stage: "allow", kind: "AuthorizationPolicy", policy: "foo/readers", enforcement: "Shadow", rules: 2 },
  ],
})
const v2 = { host: "web", name: "v2", labels: { version: "v2" } }
const MESH_SERVICE: MeshService = {
  apiVersion: "networking.merlon.dev/v1alpha3",
  kind: "MeshService",
  metadata: { name: "web", namespace: "foo" },
  spec: {
    hosts: ["web"],
    trafficPolicy: {
      tls: { mode: "DUBBO_MUTUAL" },
      connectionPool: { tcp: { idleTimeout: "5m" }, http: { idleTimeout: "10s", http2MaxRequests: 7 } },
      outlierDetection: {},
    },
    timeout: "3s",
    retries: { attempts: 2, retryOn: "5xx" },
    rules: [
      { route: [{ service: [v2] }] },
      {
        route: [{ service: [{ ...v2, trafficPolicy: { loadBalancer: { simple: "ROUND_ROBIN" } } }] }],
        timeout: "1s",
      },
    ],
  },
}
const use = { kind: "AuthorizationPolicy", policy: "foo/readers", action: "ALLOW", enforcement: "Shadow" }
const DESCRIPTION: WorkloadDescription = {
  workload: WORKLOAD,
  rules: {
    known: [
      seen("b", { ...use, rule: 1, field: "spec.rules[1]", count: 0, watchedSince: first }),
      seen("a", { ...use, rule: 0, field: "spec.rules[0]", count: 12, lastSeen: last, watchedSince: first }),
    ],
  },
  callers: {
    known: {
      result: "proved",
      ways: [
        { callers: "callers of namespace team", requests: "GET /a/*", limits: [], policy: "foo/readers", rule: 0 },
        { callers: "any caller", requests: "any request", limits: ["over mutual TLS"] },
      ],
      undecided: [],
    },
  },
  calls: {
    known: [
      seen("c1", {
        ...{ caller: "spiffe://cluster.local/ns/team/sa/a", port: 8080, protocol: "http", method: "GET" },
        ...{ path: "/a/{*}\u001b[2J", tls: true, verdict: "allow", stage: "allow", count: 12, lastSeen: last },
        rule: { policy: "foo/readers", rule: 0 },
      }),
      seen("c2", {
        ...{ address: "10.0.0.9", from: "old/cron", port: 9090, protocol: "tcp", tls: false },
        ...{ verdict: "deny", stage: "transport", count: 3, lastSeen: first },
      }),
      seen("c3", {
        ...{ address: "10.0.0.9", port: 8080, protocol: "http", method: "GET", path: "/", tls: false },
        ...{ verdict: "deny", stage: "allow", count: 1, lastSeen: first },
      }),
    ],
  },
  destinations: {
    known: [
      seen("d1", {
        ...{ destination: "db.foo.svc.cluster.local:5432", place: "mesh", to: "foo/db", transport: "mtls" },
        ...{ count: 7, failures: 0, firstSeen: first, lastSeen: last },
      }),
      seen("d2", {
        ...{ destination: "api.bar.svc.cluster.local:80", place: "mesh", to: "bar/api", transport: "mtls", count: 3 },
        ...{ failures: 0, lastStatus: 403, lastDecision: "0123456789abcdef0123", firstSeen: first, lastSeen: last },
      }),
      seen("d3", {
        ...{ destination: "192.0.2.1:443", place: "outside", transport: "none", count: 2, failures: 2, lastStatus: 0 },
        ...{ lastFailure: "registry-only", lastReason: "REGISTRY_ONLY\u001b[2J", firstSeen: first, lastSeen: first },
      }),
      seen("d4", {
        ...{ destination: "10.0.0.7:80", place: "cluster", transport: "passthrough", count: 1, failures: 0 },
        ...{ firstSeen: first, lastSeen: first },
      }),
    ],
  },
  traffic: { known: hostTraffic(["web"], [MESH_SERVICE], { namespace: "foo", rootNamespace: "merlon-system" }) },
}
const missing = { missing: 'callers is forbidden: User "jane" cannot create resource "callers"' }
const BARE: WorkloadDescription = {
  workload: seen("web", { identity: "spiffe://cluster.local/ns/foo/sa/web", pods: [{ name: "web", proxied: true }] }),
  rules: missing,
  callers: missing,
  calls: { known: [] },
  destinations: { known: [] },
  traffic: { known: [] },
}
const UNDECIDED: WorkloadDescription = {
  ...BARE,
  callers: { known: { result: "undecided", ways: [], undecided: [{ workload: "foo/web", reason: "out of time" }] } },
}

it.each([
  ["workload.txt", workloadText(DESCRIPTION, NOW)],
  ["workload.json.txt", JSON.stringify(workloadJson(DESCRIPTION), undefined, 2)],
  ["workload-bare.txt", workloadText(BARE, NOW)],
  ["workload-bare.json.txt", JSON.stringify(workloadJson(BARE), undefined, 2)],
  ["workload-undecided.txt", workloadText(UNDECIDED, NOW)],
])("%s", async (name, text) => {
  await expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}`)
})

it.each([
  ["the oldest MeshService of its own namespace", ["merlon-system/all", "foo/young", "foo/old"], "foo/old"],
  ["one of the root namespace where it has none", ["merlon-system/all", "bar/guest"], "merlon-system/all"],
  ["none of another namespace", ["bar/guest"], undefined],
])("a Service is governed by %s", (_, given, governing) => {
  const documents = given.map((id, at): MeshService => {
    const [namespace = "", name = ""] = id.split("/")
    const creationTimestamp = `2026-11-16T12:00:0${9 - at}Z`
    const metadata = { namespace, name, creationTimestamp }
    return { ...MESH_SERVICE, metadata, spec: { hosts: ["web.foo.svc.cluster.local"] } }
  })
  const [row] = hostTraffic(["web"], documents, { namespace: "foo", rootNamespace: "merlon-system" })
  expect(row?.meshService).toBe(governing)
})
