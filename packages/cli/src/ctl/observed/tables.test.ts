// SPDX-License-Identifier: Apache-2.0
// Tables of observed traffic. `npx vitest run -u` rewrites the files.

import { expect, it } from "vitest"
import type { Fields } from "../foreign.js"
import type { Observation } from "./answers-api.js"
import { DECISION_HEAD, decisionRow, decisionText } from "./decision-text.js"
import { decisionJson, decisionLine, proxiesJson, readinessJson, rulesJson } from "./json.js"
import { proxiesText, readinessText, rulesText, table } from "./tables.js"

const NOW = Date.parse("2026-11-16T12:00:00Z")
const seen = (name: string, spec: Fields): Observation => ({ namespace: "foo", name, spec })
const [first, last] = ["2026-11-14T12:00:00Z", "2026-11-16T11:55:00Z"]

const RULE = {
  policy: "foo/readers",
  field: "spec.rules[0]",
  action: "ALLOW",
  enforcement: "Enforce",
  watchedSince: first,
}
const ends = { certificateNotAfter: "2026-11-17T10:00:00Z" }
const rules = [
  seen("a", { ...RULE, count: 12, firstSeen: first, lastSeen: last }),
  seen("b", { ...RULE, field: "spec.rules[1]", enforcement: "Shadow", count: 0 }),
]
const proxies = [
  seen("web-1", { workload: "foo/web", connectedAt: first, revision: 7, resources: 3, behind: 0, lagMs: 0, ...ends }),
  seen("web-2", { workload: "foo/web", connectedAt: first, revision: 7, resources: 3, behind: 2, lagMs: 4_200 }),
  seen("web-3", { workload: "foo/web", connectedAt: last, behind: 1, rejection: "a key cannot be read" }),
]
const plaintext = [
  {
    ...{ port: 8080, from: "old/cron", address: "10.0.0.9", count: 3, firstSeen: first, lastSeen: last },
    ...{ calls: "none", advice: "breaks: its Pod has no proxy; enable injection and restart them" },
  },
]
const readiness = [
  seen("web", {
    ports: [{ port: 8080, mode: "PERMISSIVE" }],
    calls: 9,
    state: "waiting",
    why: "1 plaintext caller",
    windowStart: "2026-11-09T12:00:00Z",
    observedSince: first,
    plaintext,
  }),
  seen("db", {
    ports: [{ port: 5432, mode: "STRICT" }],
    calls: 0,
    state: "strict",
    why: "every port is STRICT",
    windowStart: "2026-11-09T12:00:00Z",
  }),
]
const criterion = { holds: false, field: "to[0].operation.paths", values: ["/status/*"], actual: "/headers" }
const denied = seen("3f1c9a2e7b604d58c1aa", {
  ...{ id: "3f1c9a2e7b604d58c1aa", time: last, verdict: "deny", workload: "foo/web-1", port: 8080, protocol: "http" },
  ...{ method: "GET", path: "/headers\u001b[2J", status: 403, source: "10.0.0.9", reason: "no ALLOW rule matches" },
  explanation: {
    policies: [
      {
        ...{ policy: { namespace: "foo", name: "readers" }, action: "ALLOW", matched: false },
        rules: [{ rule: { rule: 0 }, matched: false, to: [{ holds: false, criteria: [criterion] }] }],
      },
    ],
  },
})
const allowed = seen("x", {
  ...{ time: last, verdict: "allow", workload: "foo/web-1", protocol: "tcp", status: 0, rule: "foo/readers[0]" },
  peer: "spiffe://cluster.local/ns/app/sa/consumer",
})

it.each([
  ["rules.json", rulesJson(rules)],
  ["proxies.json", proxiesJson(proxies, [])],
  ["readiness.json", readinessJson(readiness, ["2 more workloads than one answer holds"])],
  ["decisions.json", [denied, allowed].map(decisionLine).join("\n")],
  ["decision.json", decisionJson(denied)],
  ["rules", rulesText({ items: rules, notes: { watchedSince: first } }, NOW)],
  ["no-rules", rulesText({ items: [], notes: { watchedSince: first } }, NOW)],
  ["proxies", proxiesText({ items: proxies, notes: {} }, NOW)],
  ["readiness", readinessText({ items: readiness, notes: {} }, NOW, ["2 more workloads than one answer holds"])],
  ["decisions", table(DECISION_HEAD, [denied, allowed].map(decisionRow))],
  ["decision", decisionText(denied)],
])("%s", async (name, text) => {
  await expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`)
})
