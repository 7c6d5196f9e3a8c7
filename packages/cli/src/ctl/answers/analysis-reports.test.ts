// SPDX-License-Identifier: Apache-2.0
// Checks reports against the CRDs of openreports.io/v1alpha1: fields and allowed values.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import type { Checked } from "../health/checked.js"
import { healthReport } from "../health/health-report.js"
import { typed } from "../testing/typed.js"

const POLICIES = `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: foo }
spec:
  rules:
  - to: [{ operation: { methods: [GET] } }]
  - to: [{ operation: { methods: [GET], paths: [/news] } }]
---
apiVersion: security.merlon.dev/v1alpha3
kind: PeerAuthentication
metadata: { name: strict, namespace: bar }
spec: { mtls: { mode: STRICT } }
---
apiVersion: security.merlon.dev/v1alpha3
kind: PolicyInvariant
metadata: { name: admin, namespace: foo }
spec:
  never:
  - { name: no writes, to: [{ operation: { methods: [POST] } }] }
  - { name: no reads, to: [{ operation: { methods: [GET] } }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: foo }
spec: { template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, ports: [{ containerPort: 80 }] }] } } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: bar }
spec: { template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, ports: [{ containerPort: 80 }] }] } } }
`
let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reports-"))
  writeFileSync(join(folder, "all.yaml"), POLICIES)
  writeFileSync(
    join(folder, "other.yaml"),
    `${POLICIES}---\napiVersion: security.merlin.dev/v1alpha3\nkind: AuthorizationPolicy\nmetadata: { name: x }\n`,
  )
})
afterAll(() => rmSync(folder, { recursive: true }))

type Fields = Readonly<Record<string, unknown>>

/** What the CRDs would reject: unknown fields and values that are not allowed. */
function errorsOf(report: Fields): readonly string[] {
  const errors: string[] = []
  const check = (at: string, value: Fields, allowed: Readonly<Record<string, (item: unknown) => boolean>>) => {
    for (const [name, item] of Object.entries(value)) if (allowed[name]?.(item) !== true) errors.push(`${at}.${name}`)
  }
  const text = (item: unknown) => typeof item === "string"
  const count = (item: unknown) => Number.isInteger(item) && Number(item) >= 0
  const texts = (item: unknown) => typeof item === "object" && item !== null && Object.values(item).every(text)
  const one =
    (...values: readonly string[]) =>
    (item: unknown) =>
      values.includes(String(item))
  const list = (item: unknown) => Array.isArray(item)
  const kinds = one("Report", "ClusterReport")
  const top = {
    apiVersion: one("openreports.io/v1alpha1"),
    kind: kinds,
    metadata: Boolean,
    source: text,
    summary: Boolean,
    results: list,
  }
  check("report", report, top)
  check("summary", report.summary as Fields, { pass: count, fail: count, warn: count, error: count, skip: count })
  for (const result of report.results as readonly Fields[]) {
    check("result", result, {
      policy: text,
      rule: text,
      category: text,
      severity: one("critical", "high", "medium", "low", "info"),
      result: one("pass", "fail", "warn", "error", "skip"),
      scored: item => typeof item === "boolean",
      message: text,
      timestamp: Boolean,
      resources: list,
      properties: texts,
    })
    check("timestamp", result.timestamp as Fields, { seconds: count, nanos: count })
    for (const resource of (result.resources ?? []) as readonly Fields[])
      check("resource", resource, { apiVersion: text, kind: text, namespace: text, name: text })
    if (!text(result.policy)) errors.push("result.policy is required")
  }
  return errors
}

const reportsIn = (out: string) => parseAllDocuments(out).map(document => document.toJS())

it("reports findings and invariants by namespace, with exit code 5 for a broken one", async () => {
  const { code, out } = await typed([
    "analyze",
    "-f",
    join(folder, "all.yaml"),
    "-o",
    "openreports",
    "--fail-on",
    "error",
  ])
  const reports = reportsIn(out)
  expect(reports.flatMap(errorsOf)).toEqual([])
  expect(reports.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([
    ["Report", "foo"],
    ["Report", "bar"],
  ])
  const [foo, bar] = reports
  const received = foo.results.map(({ policy, rule, result }: Fields) => [policy, rule, result])
  expect(received).toContainEqual(["dead-rule", "spec.rules[1]", "warn"])
  expect(received).toContainEqual(["admin", "never: no writes", "pass"])
  expect(received).toContainEqual(["admin", "never: no reads", "fail"])
  expect(bar.summary).toEqual({ pass: 1, fail: 0, warn: 0, error: 0, skip: 0 })
  expect(code).toBe(5)
})

it("reports skipped input as an error of the cluster", async () => {
  const { code, out } = await typed([
    "analyze",
    "-f",
    join(folder, "other.yaml"),
    "-o",
    "openreports",
    "--fail-on",
    "never",
  ])
  const report = reportsIn(out).at(-1)
  expect(errorsOf(report)).toEqual([])
  expect([code, report.kind, report.summary.error]).toEqual([4, "ClusterReport", 1])
})

it("reports the health of a mesh", () => {
  const checks: readonly Checked[] = [
    { what: "server", verdict: "well", detail: "answers" },
    { what: "invariants", verdict: "wrong", detail: "broken", next: "mend it" },
    { what: "proxies", verdict: "unknown", detail: "not known" },
    { what: "proxies", verdict: "note", detail: "and 3 more" },
  ]
  const [report] = reportsIn(healthReport(checks, 7))
  expect(errorsOf(report)).toEqual([])
  expect(report.summary).toEqual({ pass: 1, fail: 1, warn: 0, error: 1, skip: 1 })
  expect(report.results[1]).toMatchObject({
    policy: "invariants",
    message: "broken; mend it",
    timestamp: { seconds: 7 },
  })
})
