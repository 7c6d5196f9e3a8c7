// SPDX-License-Identifier: Apache-2.0
import { encodeHostRoutes } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { TestMesh } from "../testing/mesh.js"
import { TestRoutes } from "../testing/test-routes.js"
import { HostRouting } from "./host-routing.js"

const mesh = new TestMesh()
const SPEC = mesh.routes([{ subset: "v1", endpoints: [] }])

describe("a host", () => {
  it("is subscribed to on first use, and unknown until there is an answer", () => {
    const { knownRoutes } = new TestRoutes({ answersAbsent: false })
    expect(knownRoutes.ask("web:80")).toBe("unknown")
    expect(knownRoutes.subscription.names()).toEqual(["web:80"])
  })

  it("that does not exist is absent, not unknown", async () => {
    const { knownRoutes } = new TestRoutes()
    expect(await knownRoutes.find("web:80", 5_000)).toBe("absent")
  })

  it("that appears is found by a waiting caller", async () => {
    const filled = new TestRoutes()
    const waiting = filled.knownRoutes.until("web:80", answer => answer instanceof HostRouting, 5_000)
    await filled.set("web:80", SPEC)
    expect(await waiting).toMatchObject({ inTime: true })
  })

  it("keeps its balancing state across updates, and is reported with its version on the next connection", async () => {
    const filled = new TestRoutes()
    await filled.set("web:80", SPEC)
    const before = filled.knownRoutes.ask("web:80")
    await filled.set("web:80", SPEC)
    expect(filled.knownRoutes.ask("web:80")).toBe(before)
    expect(filled.knownRoutes.subscription.known()).toEqual(new Map([["web:80", "2"]]))
    expect(filled.trust).toEqual(mesh.trust)
  })

  it("that is removed is absent, and no longer reported as held", async () => {
    const filled = new TestRoutes()
    await filled.set("web:80", SPEC)
    await filled.remove("web:80")
    expect(filled.knownRoutes.ask("web:80")).toBe("absent")
    expect(filled.knownRoutes.subscription.known().size).toBe(0)
  })

  it("that was requested longest ago is dropped first", () => {
    const { knownRoutes } = new TestRoutes({ answersAbsent: false, limit: 2 })
    for (const name of ["a:1", "b:1", "a:1", "c:1"]) knownRoutes.ask(name)
    expect(knownRoutes.subscription.names()).toEqual(["a:1", "c:1"])
  })
})

describe("an update", () => {
  it.each<[string, Uint8Array]>([
    ["that cannot be read", Uint8Array.of(1, 2, 3)],
    [
      "with an invalid expression",
      encodeHostRoutes({
        ...SPEC,
        table: { ...SPEC.table, routes: [{ match: [{ uri: { regex: "(" } }], destinations: [] }] },
      }),
    ],
  ])("%s is rejected, and the last good routes stay", async (_, bytes) => {
    const filled = new TestRoutes()
    await filled.set("web:80", SPEC)
    await expect(filled.setBytes("web:80", bytes)).rejects.toThrow(/the routes of `web:80` cannot be used/)
    expect(filled.knownRoutes.ask("web:80")).toBeInstanceOf(HostRouting)
    expect(filled.knownRoutes.subscription.known().get("web:80")).toBe("1")
  })

  it("for a host that was not requested changes nothing", async () => {
    const filled = new TestRoutes()
    await filled.setBytes("other:80", encodeHostRoutes(SPEC))
    expect(filled.knownRoutes.subscription.names()).toEqual([])
  })
})

it("waiting ends on a timeout, or when the caller cancels", async () => {
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  expect(await knownRoutes.find("web:80", 1)).toBe("unknown")
  expect(await knownRoutes.find("web:80", 60_000, AbortSignal.abort())).toBe("unknown")
})

describe("hosts in use", () => {
  it("are not dropped until they are released", () => {
    const { knownRoutes } = new TestRoutes({ answersAbsent: false, limit: 2 })
    const release = knownRoutes.hold("a:1")
    for (const name of ["b:1", "c:1"]) knownRoutes.ask(name)
    expect(knownRoutes.subscription.names()).toEqual(["a:1", "c:1"])
    release()
    knownRoutes.ask("d:1")
    expect(knownRoutes.subscription.names()).toEqual(["c:1", "d:1"])
  })

  it("include those with waiting callers", async () => {
    const filled = new TestRoutes({ answersAbsent: false, limit: 1 })
    const waiting = filled.knownRoutes.find("a:1", 60_000)
    filled.knownRoutes.ask("b:1")
    await filled.remove("a:1")
    expect(await waiting).toBe("absent")
  })

  it("are dropped if the control plane would not accept more names", () => {
    const { knownRoutes } = new TestRoutes({ answersAbsent: false, limit: 1 })
    for (let n = 0; n < 9_500; n++) knownRoutes.hold(`h${n}:1`)
    expect(knownRoutes.subscription.names().length).toBe(9_000)
  })
})

it("unused hosts are not followed after a while", () => {
  const filled = new TestRoutes({ answersAbsent: false })
  const release = filled.knownRoutes.hold("held:1")
  filled.knownRoutes.ask("old:1")
  filled.now = 1_000
  filled.knownRoutes.ask("new:1")
  filled.knownRoutes.forgetUnused(1_000)
  expect(filled.knownRoutes.subscription.names()).toEqual(["held:1", "new:1"])
  release()
  filled.knownRoutes.forgetUnused(1_000)
  expect(filled.knownRoutes.subscription.names()).toEqual(["held:1", "new:1"])
  filled.now = 2_000
  filled.knownRoutes.forgetUnused(1_000)
  expect(filled.knownRoutes.subscription.names()).toEqual([])
})

it("ten thousand new hosts need few requests, and the last ones are followed", () => {
  const filled = new TestRoutes({ answersAbsent: false })
  for (let n = 0; n < 10_000; n++) filled.knownRoutes.ask(`h${n}:1`)
  expect(filled.requests).toBe(50)
  expect(filled.knownRoutes.subscription.names().length).toBe(1_000)
  expect(filled.knownRoutes.subscription.names().at(-1)).toBe("h9999:1")
})

describe("the outbound policy", () => {
  const ANY = { mode: "ALLOW_ANY", mtls: ["10.96.0.7", "10.244.1.0/24", "fd00:10::/64"] } as const

  it("is requested before anything else, and reported with its version on the next connection", async () => {
    const filled = new TestRoutes({ answersAbsent: false, followsPolicy: true })
    filled.knownRoutes.ask("web:80")
    expect(filled.knownRoutes.subscription.names()).toEqual(["|outbound", "web:80"])
    await filled.setPolicy(ANY)
    expect(filled.knownRoutes.subscription.known()).toEqual(new Map([["|outbound", "1"]]))
    await filled.remove("|outbound")
    expect(filled.knownRoutes.policy?.spec).toEqual(ANY)
    expect(filled.knownRoutes.subscription.known()).toEqual(new Map())
  })

  it.each([
    ["10.96.0.7", true],
    ["10.96.0.8", false],
    ["10.244.1.200", true],
    ["10.244.2.1", false],
    ["fd00:10::abcd", true],
    ["fd00:11::1", false],
    ["::ffff:10.96.0.7", true],
    ["nonsense", true],
  ])("decides whether %s may require mutual TLS: %s", async (address, demands) => {
    const filled = new TestRoutes({ followsPolicy: true })
    expect(filled.knownRoutes.policy?.mayDemandMtls(address)).toBe(true)
    await filled.setPolicy(ANY)
    expect(filled.knownRoutes.policy?.mayDemandMtls(address)).toBe(demands)
  })

  it("with an invalid block is rejected, and the last good one stays", async () => {
    const filled = new TestRoutes({ followsPolicy: true })
    await filled.setPolicy(ANY)
    await expect(filled.setPolicy({ mode: "ALLOW_ANY", mtls: ["10.0.0.0/99"] })).rejects.toThrow("`10.0.0.0/99`")
    expect(filled.knownRoutes.policy?.spec).toEqual(ANY)
  })
})
