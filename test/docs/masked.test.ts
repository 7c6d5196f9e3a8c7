// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { masked } from "./masked.js"

it.each([
  ["2026-11-16T03:55:29.514Z", "2027-01-01T00:00:00Z"],
  ["03:55:29   deny", "11:00:00   deny"],
  ["none [5b41d9ab6bd0aba9b980]", "none [00000000000000000000]"],
  ["httpbin-1   ready   1794801327106   23h left", "httpbin-1   ready   1894801327107   22h59m left"],
  ["foo/a   8s ago   2m5s", "foo/a   12s ago   9m"],
  ["merlonctl 0.1.0 (node v20.20.2, linux x64)", "merlonctl 1.2.3 (node v24.1.0, darwin arm64)"],
  ["context `merlon` of `/tmp/a/kubeconfig`", "context `merlon` of `.merlon/kubeconfig`"],
  ["httpbin-1   ready   127.1.0.1", "httpbin-1   ready   127.12.0.1"],
])("treats %j as equal to %j", (one, other) => {
  expect(masked(one)).toBe(masked(other))
})

it.each([
  ["03:55:29   deny", "03:55:29   allow"],
  ["127.0.0.1", "127.0.0.2"],
  ["127.1.0.1", "127.1.0.2"],
  ["10.0.0.0/8", "10.0.0.0/9"],
  ["8080   PERMISSIVE", "8081   PERMISSIVE"],
  ["ALLOW   1   8s ago", "ALLOW   2   8s ago"],
  ["GET /status/{*}", "GET /status/204"],
  ["rule 0 of `foo/a`", "rule 1 of `foo/a`"],
  ["403", "401"],
  ["used   never", "used   5s ago"],
  ["a b", "ab"],
])("treats %j as different from %j", (one, other) => {
  expect(masked(one)).not.toBe(masked(other))
})
