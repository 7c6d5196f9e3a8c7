// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { formatStatus } from "../../ctl/commands/status.js"
import { isWell, type MeshStatus, readDump } from "./mesh-status.js"

const status: MeshStatus = {
  data: "/data",
  phase: "ready",
  supervisor: 7,
  mesh: "merlon",
  domain: "merlon.dev",
  controlPlane: { ready: true, reason: undefined, api: "https://127.0.0.1:7443" },
  ingressPorts: [{ service: "httpbin.foo", port: 8_000 }],
  processes: [{ name: "control-plane", pid: 8, running: true, since: "2026-11-15T08:00:00Z", restarts: 0 }],
  workloads: [
    {
      namespace: "foo",
      name: "httpbin-1",
      ready: true,
      reason: undefined,
      address: "127.1.0.1:15080",
      revision: 5,
      policies: 2,
      certificateExpires: "2026-11-16T08:00:00.000Z",
    },
  ],
}

describe("a mesh is healthy", () => {
  it("if everything is ready", () => expect(isWell(status)).toBe(true))

  test.each<[string, MeshStatus]>([
    ["it still starts", { ...status, phase: "starting" }],
    ["its supervisor crashed", { ...status, phase: "crashed" }],
    ["its control plane is not ready", { ...status, controlPlane: { ...status.controlPlane, ready: false } }],
    ["a process does not run", { ...status, processes: status.processes.map(one => ({ ...one, running: false })) }],
    ["a proxy is not ready", { ...status, workloads: status.workloads.map(one => ({ ...one, ready: false })) }],
  ])("but not if %s", (_, sick) => expect(isWell(sick)).toBe(false))
})

it("is printed in tables", () => {
  const text = formatStatus(status, Date.parse("2026-11-15T08:00:42Z"))
  expect(text).toMatch(/^control plane +ready, API https:\/\/127\.0\.0\.1:7443$/m)
  expect(text).toMatch(/^httpbin\.foo +http:\/\/127\.0\.0\.1:8000$/m)
  expect(text).toMatch(/^foo +httpbin-1 +yes +127\.1\.0\.1:15080 +5 +2 +until 2026-11-16T08:00:00Z$/m)
  expect(text).toMatch(/^control-plane +8 +yes +42s +0$/m)
})

it("removes terminal control characters of processes", () => {
  const workloads = status.workloads.map(one => ({ ...one, ready: false, reason: "\u001b[2J" }))
  expect(formatStatus({ ...status, workloads }, 0)).not.toContain("\u001b[2J")
})

describe("a proxy's dump", () => {
  const nothing = { revision: undefined, policies: undefined, certificateExpires: undefined }
  test.each([
    ["", nothing],
    ["{", nothing],
    ['{"phase":"starting"}', nothing],
    ['{"configuration":{"revision":3,"policies":[{},{}]}}', { ...nothing, revision: 3, policies: 2 }],
    [
      '{"configuration":{"revision":3,"policies":[],"tls":{"certificateChain":"x"}}}',
      { ...nothing, revision: 3, policies: 0 },
    ],
  ])("%j says what is in force", (text, expected) => {
    expect(readDump(text)).toEqual(expected)
  })
})
