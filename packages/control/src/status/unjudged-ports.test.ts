// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it, test } from "vitest"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { UdpHandling } from "../registry/udp.js"
import { NO_TARGETS } from "./service-targets.js"
import { document, mesh } from "./testing/documents.js"
import { unjudgedPorts } from "./unjudged-ports.js"

type Udp = Pick<MeshWorkload, "key" | "udpPorts" | "udp">
const on = (key: string, udp: UdpHandling, ...udpPorts: readonly number[]): Udp => ({ key, udp, udpPorts })
const NO_WORKLOADS = {
  workloads: 0,
  unproxied: [],
  outside: [],
  bypassable: [],
  pending: 0,
  nearest: undefined,
  missing: [],
}

function resultOf(of: PolicyDocument | undefined, ...udp: readonly Udp[]): string {
  const found = unjudgedPorts({ document: of, mesh, reach: { ...NO_WORKLOADS, targets: NO_TARGETS, udp } })
  return found === undefined ? "nothing" : `${found.status} ${found.reason}: ${found.message}`
}

const strict = document("PeerAuthentication", "p", { mtls: { mode: "STRICT" } })
const open = on("foo/dns", "passed", 53, 5353)
const confined = on("foo/voice", "unrefusable", 5060)
const closed = on("foo/quic", "refused", 443)

test.each<[string, readonly Udp[], string]>([
  ["no UDP port", [], "nothing"],
  ["denied ports", [closed], "False UdpRefused: UDP is denied to foo/quic (443)"],
  [
    "open ones",
    [open],
    "True UdpNotJudged: no policy judges UDP: every client can reach foo/dns (53, 5353); set `--udp refuse` and restart these Pods",
  ],
  [
    "ports that cannot be denied",
    [confined],
    "True UdpNotJudged: no policy judges UDP: every client can reach foo/voice (5060), where `--udp refuse` has no effect; use a NetworkPolicy or a firewall",
  ],
  [
    "some of each kind",
    [closed, confined, open],
    "True UdpNotJudged: no policy judges UDP: every client can reach foo/dns (53, 5353); set `--udp refuse` and restart these Pods; every client can reach foo/voice (5060), where `--udp refuse` has no effect; use a NetworkPolicy or a firewall; UDP is denied to foo/quic (443)",
  ],
])("names workloads with %s", (_, udp, expected) => {
  expect(resultOf(strict, ...udp)).toBe(expected)
})

it("names five workloads and counts the others", () => {
  const many = ["a", "b", "c", "d", "e", "f", "g"].map(name => on(`foo/${name}`, "passed", 53))
  expect(resultOf(strict, ...many)).toContain("foo/d (53), foo/e (53) and 2 more;")
})

const selector = { matchLabels: { app: "a" } }
const action = (word: string, more: object = {}) =>
  document("AuthorizationPolicy", "p", { action: word, rules: [{}], ...more })
const dryRun = { annotations: { [mesh.names.dryRunAnnotation]: "true" } }

test.each<[string, PolicyDocument | undefined, boolean]>([
  ["STRICT", strict, true],
  [
    "STRICT of one port",
    document("PeerAuthentication", "p", { selector, portLevelMtls: { 80: { mode: "STRICT" } } }),
    true,
  ],
  ["PERMISSIVE", document("PeerAuthentication", "p", { mtls: { mode: "PERMISSIVE" } }), false],
  ["a mode that another policy sets", document("PeerAuthentication", "p", {}), false],
  [
    "STRICT in shadow mode",
    document("PeerAuthentication", "p", { mtls: { mode: "STRICT" }, enforcement: "Shadow" }),
    false,
  ],
  ["ALLOW", action("ALLOW"), true],
  ["ALLOW by default", document("AuthorizationPolicy", "p", {}), true],
  ["DENY", action("DENY"), true],
  ["AUDIT", action("AUDIT"), false],
  ["ALLOW in shadow mode", action("ALLOW", { enforcement: "Shadow" }), false],
  ["a dry run", document("AuthorizationPolicy", "p", { rules: [{}] }, dryRun), false],
  ["tokens", document("RequestAuthentication", "p", {}), false],
  ["routes", document("MeshService", "p", { hosts: ["web"] }), false],
  ["an invalid document", undefined, false],
])("under %s", (_, of, expected) => {
  expect(resultOf(of, open) !== "nothing").toBe(expected)
})
