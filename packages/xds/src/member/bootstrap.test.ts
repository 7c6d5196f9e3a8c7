// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readBootstrap } from "./bootstrap.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-bootstrap-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const variable = (name: string) => `$\{${name}}`

const GOOD = {
  controlPlane: { address: "127.0.0.1:15012" },
  workload: { namespace: "foo", name: "httpbin-1" },
  trustBundle: "root.pem",
  token: "token",
}

function read(document: unknown, environment: Readonly<Record<string, string>> = {}) {
  const path = join(folder, "bootstrap.yaml")
  writeFileSync(path, typeof document === "string" ? document : JSON.stringify(document))
  return readBootstrap(path, environment)
}

it("derives what is not said, and finds files beside it", () => {
  expect(read(GOOD)).toMatchObject({
    names: { mesh: "merlon" },
    controlPlane: { address: "127.0.0.1:15012", serverName: "merlond.merlon-system.svc" },
    workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default" },
    trustBundle: join(folder, "root.pem"),
    token: join(folder, "token"),
    listen: "::",
    application: "127.0.0.1",
  })
})

it("takes the pod's name from the environment, as text and nothing more", () => {
  const document = { ...GOOD, workload: { namespace: "foo", name: variable("POD_NAME") } }
  expect(read(document, { POD_NAME: "a, b: {c" }).workload.name).toBe("a, b: {c")
})

it.each([
  [{ port: 8080 }, { kind: "tcp", port: 8080, periodSeconds: 5, timeoutSeconds: 2 }],
  [
    { kind: "http", port: 80, path: "/up" },
    { kind: "http", port: 80, path: "/up" },
  ],
  [
    { kind: "command", command: ["true"], periodSeconds: 1 },
    { kind: "command", command: ["true"], periodSeconds: 1 },
  ],
])("reads how the application is asked: %j", (probe, expected) => {
  expect(read({ ...GOOD, probe }).probe).toMatchObject(expected)
})

describe("rejects", () => {
  it.each([
    ["a probe of no port", { ...GOOD, probe: { kind: "http" } }, /probe.port: must be a whole number/],
    ["a probe of no kind", { ...GOOD, probe: { kind: "udp" } }, /probe.kind: must be one of http, tcp, command/],
    ["a probe of no program", { ...GOOD, probe: { kind: "command" } }, /probe.command: must name a program/],
    ["a variable that is not set", { ...GOOD, address: variable("POD_IP") }, /the environment has no `POD_IP`/],
    [
      "an address without a port",
      { ...GOOD, controlPlane: { address: "merlond" } },
      /controlPlane.address: .*HOST:PORT/,
    ],
    ["a port that is none", { ...GOOD, controlPlane: { address: "merlond:0" } }, /HOST:PORT/],
    ["a workload without a name", { ...GOOD, workload: { namespace: "foo" } }, /workload.name: must be a text/],
    ["a field nobody knows", { ...GOOD, tokn: "x" }, /tokn: unknown field; did you mean `token`/],
    ["what is no mapping", "- a", /must be a mapping/],
    ["what is no YAML", "a: [", /bootstrap.yaml/],
    ["a mesh that cannot be", { ...GOOD, mesh: { name: "A B" } }, /DNS label/],
  ])("%s", (_, document, message) => {
    expect(() => read(document)).toThrow(message)
  })
})
