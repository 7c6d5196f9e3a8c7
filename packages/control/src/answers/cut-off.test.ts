// SPDX-License-Identifier: Apache-2.0
import type { ObservedCall } from "@merlon/policy/ledger"
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { document, MESH } from "../proofs/testing/documents.js"
import { podOf } from "../registry/testing/objects.js"
import { viewsStage } from "../snapshot/testing/views-stage.js"
import { cutOff, cutOffWarnings } from "./cut-off.js"

const SEEN = Date.parse("2026-11-16T10:20:30.400Z")
const call = (part: Partial<ObservedCall> = {}): ObservedCall => ({
  ...{ address: "10.0.0.9", from: "old/cron", workload: "foo/web-1", port: 8080, protocol: "http" },
  ...{ method: "GET", path: "/", tls: false, verdict: "allow", stage: "default" },
  ...{ firstSeen: SEEN - 5_000, lastSeen: SEEN, count: 3 },
  ...part,
})
const peers = (name: string, spec: object, namespace = "foo"): PolicyDocument =>
  document("PeerAuthentication", name, spec, namespace)
const web = { selector: { matchLabels: { app: "web" } } }
const STRICT = peers("strict", { mtls: { mode: "STRICT" } })
const EXCEPTION = peers("exception", { ...web, mtls: { mode: "PERMISSIVE" } })

interface Change {
  readonly stored?: readonly PolicyDocument[]
  readonly before?: PolicyDocument
  readonly after?: PolicyDocument
  readonly calls?: readonly ObservedCall[]
}

function resultOf({ stored = [], before, after, calls = [call()] }: Change): readonly string[] {
  const { registry } = viewsStage()
  registry.setPod(
    podOf("foo/web-1", { labels: { app: "web" }, ports: [{ containerPort: 8080 }, { containerPort: 9090 }] }),
  )
  const documents = before === undefined ? stored : [...stored, before]
  const workloads = registry.workloads.values()
  return cutOffWarnings(cutOff({ before, after }, { documents, workloads, calls, mesh: MESH, since: SEEN - 1_000 }))
}

const CRON =
  "this will block plaintext callers of `foo/web-1`: `old/cron` on port 8080 (3 calls, last 2026-11-16T10:20:30Z); see `merlonctl mtls ready`"

it.each<[string, Change, readonly string[]]>([
  ["a new STRICT policy, and names a known caller", { after: STRICT }, [CRON]],
  [
    "a STRICT policy for the whole mesh",
    { after: peers("strict", { mtls: { mode: "STRICT" } }, MESH.names.rootNamespace) },
    [CRON],
  ],
  [
    "a policy in shadow mode, before it is enforced",
    { after: peers("s", { mtls: { mode: "STRICT" }, enforcement: "Shadow" }) },
    [CRON],
  ],
  ["a changed mode", { before: peers("strict", { mtls: { mode: "DISABLE" } }), after: STRICT }, [CRON]],
  ["a deleted exception", { stored: [STRICT], before: EXCEPTION }, [CRON]],
  [
    "a STRICT setting of one port",
    { after: peers("p", { ...web, portLevelMtls: { 8080: { mode: "STRICT" } } }) },
    [CRON],
  ],
])("warns about %s", (_, change, expected) => {
  expect(resultOf(change)).toEqual(expected)
})

it.each<[string, Change]>([
  ["of another port", { after: peers("p", { ...web, portLevelMtls: { 9090: { mode: "STRICT" } } }) }],
  ["of another namespace", { after: peers("strict", { mtls: { mode: "STRICT" } }, "bar") }],
  ["that an exception overrides", { stored: [EXCEPTION], after: STRICT }],
  [
    "to a port that was STRICT before",
    { before: STRICT, after: peers("strict", { ...web, mtls: { mode: "STRICT" } }) },
  ],
  ["that makes mTLS optional", { before: STRICT, after: peers("strict", { mtls: { mode: "PERMISSIVE" } }) }],
  ["of another kind", { after: document("AuthorizationPolicy", "a", { rules: [{}] }) }],
  ["when all callers use TLS", { after: STRICT, calls: [call({ tls: true })] }],
  ["when plaintext calls were denied", { after: STRICT, calls: [call({ verdict: "deny" })] }],
  ["when the last plaintext call is too long ago", { after: STRICT, calls: [call({ lastSeen: SEEN - 2_000 })] }],
])("does not warn about a change %s", (_, change) => {
  expect(resultOf(change)).toEqual([])
})

it("adds up the calls of one caller, and shortens a long list", () => {
  const calls = [
    ...[call({ path: "/a", count: 1 }), call({ path: "/b", count: 4, lastSeen: SEEN - 1 })],
    ...["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(address => {
      const { from: _, ...unknown } = call({ address, lastSeen: SEEN - 10 })
      return unknown
    }),
  ]
  const [one = ""] = resultOf({ after: STRICT, calls })
  expect(one).toContain("`old/cron` on port 8080 (5 calls, ")
  expect(one).toContain("`10.0.0.1` on port 8080 (3 calls, last 2026-11-16T10:20:30Z) and 2 more; ")
  expect(one.length).toBeLessThanOrEqual(256)
})
