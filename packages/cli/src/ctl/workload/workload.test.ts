// SPDX-License-Identifier: Apache-2.0
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { age } from "./age.js"
import { bootstrapText, writeBootstrap } from "./bootstrap-files.js"
import { declaredPod, frozenDifference, isDeclared, readDeclared } from "./declared-pod.js"
import { declaredPort, labels } from "./parse-flags.js"

const names = meshNames()
const declaration = {
  name: "httpbin.1",
  namespace: "foo",
  labels: { app: "httpbin" },
  ports: [
    { port: 8080, protocol: "http" },
    { port: 8081, protocol: "http" },
    { port: 9090, protocol: "grpc" },
    { port: 9091, protocol: undefined },
  ],
  serviceAccount: "bin",
}
const pod = declaredPod(declaration, names)

describe("a declared Pod", () => {
  it("is marked, gated and kept from injection", () => {
    expect(isDeclared(pod, names)).toBe(true)
    expect(pod.metadata).toMatchObject({
      labels: { app: "httpbin", "sidecar.merlon.dev/inject": "false" },
      annotations: { "merlon.dev/workload": "declared", "merlon.dev/proxy": "xserver" },
    })
    expect(pod.spec).toMatchObject({ schedulingGates: [{ name: "merlon.dev/declared" }], serviceAccountName: "bin" })
    expect(pod.spec).not.toHaveProperty("nodeName")
  })

  it("names its ports by their protocol, each once", () => {
    expect(pod.spec).toMatchObject({
      containers: [
        {
          name: "httpbin-1",
          ports: [
            { containerPort: 8080, name: "http-8080" },
            { containerPort: 8081, name: "http-8081" },
            { containerPort: 9090, name: "grpc" },
            { containerPort: 9091 },
          ],
        },
      ],
    })
  })

  it("follows the mesh's names", () => {
    const other = meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" })
    expect(isDeclared(declaredPod(declaration, other), other)).toBe(true)
    expect(isDeclared(declaredPod(declaration, other), names)).toBe(false)
  })

  it("is read back as declared", () => {
    expect(readDeclared(pod, names)).toEqual({
      namespace: "foo",
      name: "httpbin.1",
      ready: false,
      address: "",
      ports: "8080/http,8081/http,9090/grpc,9091",
      serviceAccount: "bin",
      labels: "app=httpbin",
      created: "",
    })
  })

  it("is ready and has an address if its status says so", () => {
    const status = { podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] }
    expect(readDeclared({ ...pod, status }, names)).toMatchObject({ ready: true, address: "10.0.0.1" })
    expect(readDeclared({ ...pod, status: { podIP: "\u001b[2J", conditions: 7 } }, names)).toMatchObject({
      ready: false,
      address: "",
    })
  })

  it("cannot change its ports or identity", () => {
    expect(frozenDifference(pod, pod)).toBeUndefined()
    expect(frozenDifference(pod, declaredPod({ ...declaration, serviceAccount: "x" }, names))).toContain(
      "service account",
    )
    expect(frozenDifference(pod, declaredPod({ ...declaration, ports: [] }, names))).toContain("ports")
    expect(frozenDifference(pod, declaredPod({ ...declaration, labels: {} }, names))).toBeUndefined()
  })
})

describe("flags of a workload", () => {
  it("are added up", () => {
    expect(labels("a=b,c.d/e=", { x: "y" })).toEqual({ x: "y", a: "b", "c.d/e": "" })
    expect(declaredPort("8080/http", declaredPort("9090", []))).toEqual([
      { port: 9090, protocol: undefined },
      { port: 8080, protocol: "http" },
    ])
  })

  it.each(["", "a", "=b", "a=b c", "a=b,,", "A/b/c=d", `a=${"b".repeat(64)}`])("is no label: `%s`", text => {
    expect(() => labels(text)).toThrow("is no label")
  })

  it.each([
    ["", "must be a port"],
    ["0", "must be a port"],
    ["65536", "must be a port"],
    ["80/", "must be a port"],
    ["http/80", "must be a port"],
    ["80/smtp", "is no protocol"],
    ["9", "is there twice"],
  ])("reject the port `%s`", (text, message) => {
    expect(() => declaredPort(text, [{ port: 9, protocol: undefined }])).toThrow(message)
  })
})

it("writes a bootstrap with the given values only", () => {
  const text = bootstrapText(declaration, { controlPlane: "cp:15012", address: "10.0.0.7" }, names)
  expect(text).toBe(
    "mesh:\n  name: merlon\n  domain: merlon.dev\ncontrolPlane:\n  address: cp:15012\nworkload:\n  namespace: foo\n  name: httpbin.1\n  serviceAccount: bin\ntrustBundle: root.pem\ntoken: token\naddress: 10.0.0.7\nstate: state\n",
  )
})

it("writes files that only the owner can read, and follows no symlink in their place", () => {
  const folder = mkdtempSync(join(tmpdir(), "bootstrap-"))
  const before = process.umask(0)
  try {
    const elsewhere = join(folder, "elsewhere")
    writeFileSync(elsewhere, "mine")
    const out = join(folder, "out")
    mkdirSync(out)
    for (const name of ["token", "root.pem", "bootstrap.yaml"]) symlinkSync(elsewhere, join(out, name))
    expect(writeBootstrap(out, "text", "secret", "pem")).toBe(join(out, "bootstrap.yaml"))
    expect(readFileSync(elsewhere, "utf8")).toBe("mine")
    for (const name of readdirSync(out)) expect(lstatSync(join(out, name)).mode & 0o7777, name).toBe(0o600)
  } finally {
    process.umask(before)
    rmSync(folder, { recursive: true })
  }
})

it.each([
  [5, "5s"],
  [119, "119s"],
  [121, "2m1s"],
  [180, "3m"],
  [660, "11m"],
  [3 * 3600 + 60, "3h1m"],
  [10 * 3600, "10h"],
  [3 * 86_400, "3d"],
  [9 * 86_400, "9d"],
  [800 * 86_400, "2y"],
])("is %i seconds old: %s", (seconds, expected) => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  expect(age(new Date(now - seconds * 1000).toISOString(), now)).toBe(expected)
  expect(age("never", now)).toBe("<unknown>")
})
