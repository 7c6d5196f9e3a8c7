// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readCheckedFile, writeCheckedFile } from "@merlon/xds/runtime"
import { afterAll, describe, expect, it, test } from "vitest"
import { compileConfiguration } from "./configuration.js"
import { readConfigurationFile } from "./file.js"
import { loadState, saveState } from "./state.js"

const folder = mkdtempSync(join(tmpdir(), "xserver-config-"))
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const POLICY = `
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: nothing, namespace: foo }
spec: {}
`
const BASE = `
workload: { namespace: foo, name: httpbin-1, labels: { app: httpbin } }
ports: [{ port: 8080, protocol: http }]
`

describe("a configuration file", () => {
  it("yields a complete configuration with defaults", () => {
    write("policies.yaml", POLICY)
    write("keys.json", '{"keys":[]}')
    for (const name of ["cert.pem", "key.pem", "roots.pem"]) write(name, name)
    const path = write(
      "full.yaml",
      `${BASE}
policyFiles: [policies.yaml]
keySets: [{ issuer: "https://i.example", file: keys.json }]
tls: { certificateChain: cert.pem, privateKey: key.pem, trustBundle: roots.pem }
revocations: { serials: ["0a:ff"] }
probes: { /app-health/httpbin/readyz: { port: 8080, path: /ready } }
`,
    )
    const files: string[] = []
    const configuration = readConfigurationFile(path, 7, file => void files.push(file))
    expect(configuration).toMatchObject({
      revision: 7,
      workload: { namespace: "foo", serviceAccount: "default" },
      ports: [{ port: 8080, listen: { host: "::", port: 15_080 }, upstream: { host: "127.0.0.1", port: 8080 } }],
      tls: { privateKey: "key.pem" },
      revocations: { serials: ["0AFF"] },
      probes: { "/app-health/httpbin/readyz": { kind: "http", timeoutMs: 1_000 } },
    })
    expect(configuration.policies.map(({ metadata }) => metadata.name)).toEqual(["nothing"])
    const names = ["full.yaml", "policies.yaml", "keys.json", "cert.pem", "key.pem", "roots.pem"]
    expect(files).toEqual(names.map(name => join(folder, name)))
    expect(Object.values(configuration.keySets)).toEqual(['{"keys":[]}'])
    expect(compileConfiguration(configuration).workload.name).toBe("httpbin-1")
  })

  test.each([
    ["a missing workload", "ports: [{ port: 8080 }]", "workload.namespace: must be a text; it is missing"],
    ["no port", "workload: { namespace: a, name: b }", "ports: at least one port is needed"],
    ["a misspelt field", `${BASE}\npolicyFile: []`, "policyFile: unknown field; did you mean `policyFiles`?"],
    [
      "a misspelt field of a port",
      "workload: { namespace: a, name: b }\nports: [{ port: 80, protocl: http }]",
      "ports[0].protocl: unknown field; did you mean `protocol`?",
    ],
    [
      "a port out of range",
      "workload: { namespace: a, name: b }\nports: [{ port: 70000 }]",
      "ports[0].port: must be a whole number from 1 to 65535; it is 70000",
    ],
    [
      "an unknown protocol",
      "workload: { namespace: a, name: b }\nports: [{ port: 80, protocol: udp }]",
      "ports[0].protocol: must be one of http, tcp, auto",
    ],
    [
      "an invalid policy",
      `${BASE}\npolicies: [{ apiVersion: security.merlon.dev/v1alpha3, kind: AuthorizationPolicy, metadata: { name: a }, spec: { action: NO } }]`,
      "policies[0]: spec.action",
    ],
    ["a missing file", `${BASE}\npolicyFiles: [none.yaml]`, "cannot read"],
    ["invalid YAML", "a: [", "Flow sequence"],
    ["a list instead of a mapping", "- a", "must be a mapping"],
  ])("with %s is rejected with a helpful message", (_, text, expected) => {
    expect(() => readConfigurationFile(write("bad.yaml", text), 1)).toThrow(expected)
  })
})

describe("the last good state", () => {
  const state = join(folder, "state")

  it("is read back unchanged, and only its owner can read the key", () => {
    const path = write(
      "state.yaml",
      `${BASE}
mesh: { name: dubbo, domain: dubbo.apache.org }`,
    )
    const configuration = readConfigurationFile(path, 3)
    saveState(state, configuration)
    expect(loadState(state)).toEqual(configuration)
    expect(statSync(join(state, "last-good.json")).mode & 0o777).toBe(0o600)
  })

  it("is undefined if there is none", () => {
    expect(loadState(join(folder, "nowhere"))).toBeUndefined()
  })

  it("is rejected if it was tampered with, or written by another version", () => {
    const good = JSON.parse(readCheckedFile(state, "last-good.json") ?? "")
    const rewrite = (changes: object) =>
      writeCheckedFile(state, "last-good.json", JSON.stringify({ ...good, ...changes }))
    rewrite({ policies: [{ kind: "AuthorizationPolicy" }] })
    expect(() => loadState(state)).toThrow("unusable")
    rewrite({ version: 99 })
    expect(() => loadState(state)).toThrow("version 99")
  })
})
