// SPDX-License-Identifier: Apache-2.0
// A pull request against a repository with Istio's Gateways, Services and policies: the program reads both revisions and
// decides at the gateway and at the waypoint.

import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"

const MESH = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, namespace: edge}
spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: waypoint, namespace: till}
spec: {gatewayClassName: istio-waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: till, labels: {istio.io/dataplane-mode: ambient, istio.io/use-waypoint: waypoint}}
---
apiVersion: v1
kind: Service
metadata: {name: orders, namespace: till}
spec: {selector: {app: orders}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: till}
spec: {template: {metadata: {labels: {app: orders}}, spec: {containers: [{name: app}]}}}
`
const policy = (namespace: string, name: string, target: string, path: string): string =>
  `---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: ${name}, namespace: ${namespace}}\n` +
  `spec: {targetRefs: [${target}], rules: [{to: [{operation: {paths: [${path}]}}]}]}\n`
const GATEWAY = "{group: gateway.networking.k8s.io, kind: Gateway, name: public}"
const SERVICE = "{kind: Service, name: orders}"

let folder = ""
const program = resolve("packages/cli/bin/merlonctl.js")

/** Runs merlonctl in the repository. */
function merlonctl(...args: readonly string[]): { readonly code: number | null; readonly out: string } {
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" })
  return { code: status, out: stdout }
}
const git = (...args: readonly string[]): void =>
  void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder, ...args])

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-istio-gateways-"))
  writeFileSync(join(folder, "mesh.yaml"), MESH)
  writeFileSync(join(folder, "policies.yaml"), policy("edge", "p", GATEWAY, "/a") + policy("till", "p", SERVICE, "/a"))
  git("init", "-q", "-b", "main")
  git("add", ".")
  git("commit", "-q", "-m", "x")
})
afterAll(() => rmSync(folder, { recursive: true }))

const diff = (...more: readonly string[]) =>
  merlonctl("diff", "--from", "main:policies.yaml", "--to", "policies.yaml", "--workloads", "mesh.yaml", ...more)

it("shows what a pull request changes at a gateway and at a waypoint", () => {
  writeFileSync(join(folder, "policies.yaml"), policy("edge", "p", GATEWAY, "/b") + policy("till", "p", SERVICE, "/b"))
  const { code, out } = diff("-o", "json")
  expect(code).toBe(5)
  const { result, changes, read } = JSON.parse(out)
  expect({ result, skipped: read.skipped }).toEqual({ result: "different", skipped: [] })
  const received = changes.map(({ workload, direction, region }: Record<string, string>) => [
    workload,
    direction,
    region,
  ])
  expect(new Set(received.map(([workload]: string[]) => workload))).toEqual(
    new Set(["edge/public-istio", "till/waypoint:orders"]),
  )
  expect(
    received.filter(([, direction]: string[]) => direction === "allow").map(([, , region]: string[]) => region),
  ).toEqual(["/b from any caller", "/b from any caller"])
})

it("lists a changed policy of a Service that was not read", () => {
  const other = policy("till", "p", "{kind: Service, name: none}", "/a")
  writeFileSync(join(folder, "policies.yaml"), policy("edge", "p", GATEWAY, "/a") + other)
  const { code, out } = diff()
  expect(code).toBe(5)
  expect(out).toContain("skipped: AuthorizationPolicy till/p: not modelled: it targets Service till/none")
  expect(merlonctl("who-can", "till/waypoint:orders", "-f", "policies.yaml", "--workloads", "mesh.yaml").code).toBe(0)
})
