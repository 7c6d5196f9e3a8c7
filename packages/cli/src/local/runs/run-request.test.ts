// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { choosePlace } from "../layout/choose-places.js"
import type { Look } from "../layout/free-port.js"
import { runDocuments } from "./run-documents.js"
import { checkRunName, type RunRequest, runSpec } from "./run-request.js"
import { bootstrapProbe, digestOf, serviceOf, withoutRun, withPlace, withRun } from "./run-spec.js"

const request: RunRequest = {
  namespace: "demo",
  name: "shop",
  port: 8080,
  protocol: "http",
  labels: {},
  replicas: 2,
  command: ["serve", "{host}:{port}"],
  cwd: "/",
  env: {},
  probe: { kind: "tcp" },
}

describe("a request", () => {
  it("gets defaults: its Service, identity and label come from its name", () => {
    expect(runSpec(request)).toMatchObject({ labels: { app: "shop" }, serviceAccount: "shop", servicePort: 8080 })
  })

  it("shares the Service of other versions by the label app", () => {
    const spec = runSpec({ ...request, name: "shop-v2", labels: { app: "shop", version: "v2" } })
    expect([serviceOf(spec), spec.serviceAccount]).toEqual(["shop", "shop"])
    const [namespace, account, service] = runDocuments(spec, meshNames())
    expect(namespace?.metadata).toMatchObject({ name: "demo", labels: { "merlon-injection": "enabled" } })
    expect(account?.metadata.name).toBe("shop")
    expect(service?.spec).toMatchObject({ selector: { app: "shop" }, ports: [{ port: 8080, targetPort: "http" }] })
  })

  it("differs from the next one with the same name", () => {
    const spec = runSpec(request)
    expect(digestOf(spec)).toBe(digestOf(runSpec(request)))
    expect(digestOf(spec)).not.toBe(digestOf(runSpec({ ...request, replicas: 3 })))
    expect(withRun(withRun([], spec), spec)).toEqual([spec])
    expect(withoutRun([spec], spec)).toEqual([])
  })

  it.each([
    [{ listensOn: "here", replicas: 1 }, "is no address"],
    [{ listensOn: "127.0.0.1" }, "several replicas cannot listen at one address"],
  ])("is rejected if it is impossible: %j", (more, message) => {
    expect(() => runSpec({ ...request, ...more })).toThrow(message)
  })

  it.each(["Shop", "a.b", "-a", "", "a".repeat(60)])("rejects the invalid name `%s`", name => {
    expect(() => checkRunName(name, "demo")).toThrow("cannot be a name")
    expect(() => checkRunName("shop", name)).toThrow("cannot be a namespace")
  })
})

it("tells a program where to listen", () => {
  expect(withPlace(request.command, "127.1.0.5", 8080)).toEqual(["serve", "127.1.0.5:8080"])
})

it.each([
  [{ kind: "tcp" } as const, { kind: "tcp", port: 80, periodSeconds: 1 }],
  [{ kind: "command", command: ["true"] } as const, { kind: "command", command: ["true"], periodSeconds: 1 }],
])("converts a probe for its proxy: %j", (probe, expected) => {
  expect(bootstrapProbe(probe, 80)).toEqual(expected)
})

describe("a place for one more", () => {
  const ports = { xserver: 15_080, admin: 15_000, health: 15_021, outbound: 15_001, application: 8_080 }
  const free: Look = async () => "free"

  it("is the next free address", async () => {
    const taken = [1, 2].map(index => ({ address: `127.3.0.${index}`, ...ports }))
    expect(await choosePlace(taken, 8080, free)).toEqual({ address: "127.3.0.3", ...ports })
  })

  it("skips addresses where a process listens", async () => {
    const look: Look = async (address, port) => (address === "127.1.0.1" && port === 9090 ? "taken" : "free")
    expect((await choosePlace([], 9090, look)).address).toBe("127.1.0.2")
    expect((await choosePlace([], 9090, look, 7)).address).toBe("127.7.0.1")
  })

  it("is an error if the program's port is taken at every address", async () => {
    const look: Look = async (_, port) => (port === 9090 ? "taken" : "free")
    await expect(choosePlace([], 9090, look)).rejects.toThrow("port 9090 is taken at every address")
    await expect(choosePlace([], 80, async () => "not permitted")).rejects.toThrow("not permitted")
  })
})
