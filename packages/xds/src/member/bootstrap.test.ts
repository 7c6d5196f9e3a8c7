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

it("applies defaults, and resolves paths relative to the file", () => {
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

it("takes the Pod's name from the environment, as plain text", () => {
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
])("parses an application probe: %j", (probe, expected) => {
  expect(read({ ...GOOD, probe }).probe).toMatchObject(expected)
})

describe("rejects", () => {
  it.each([
    ["a probe without a port", { ...GOOD, probe: { kind: "http" } }, /probe.port: must be a whole number/],
    ["an unknown kind of probe", { ...GOOD, probe: { kind: "udp" } }, /probe.kind: must be one of http, tcp, command/],
    [
      "a command probe without a program",
      { ...GOOD, probe: { kind: "command" } },
      /probe.command: must name a program/,
    ],
    ["a variable that is not set", { ...GOOD, address: variable("POD_IP") }, /the environment has no `POD_IP`/],
    [
      "an address without a port",
      { ...GOOD, controlPlane: { address: "merlond" } },
      /controlPlane.address: .*HOST:PORT/,
    ],
    ["an invalid port", { ...GOOD, controlPlane: { address: "merlond:0" } }, /HOST:PORT/],
    ["a workload without a name", { ...GOOD, workload: { namespace: "foo" } }, /workload.name: must be a text/],
    ["an unknown field", { ...GOOD, tokn: "x" }, /tokn: unknown field; did you mean `token`/],
    ["a document that is not a mapping", "- a", /must be a mapping/],
    ["invalid YAML", "a: [", /bootstrap.yaml/],
    ["an invalid mesh name", { ...GOOD, mesh: { name: "A B" } }, /DNS label/],
  ])("%s", (_, document, message) => {
    expect(() => read(document)).toThrow(message)
  })
})
