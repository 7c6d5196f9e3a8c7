// SPDX-License-Identifier: Apache-2.0
import { encodeHostRoutes } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { TestBook } from "../testing/book.js"
import { TestMesh } from "../testing/mesh.js"
import { HostRouting } from "./host-routing.js"

const mesh = new TestMesh()
const SPEC = mesh.routes([{ subset: "v1", endpoints: [] }])

describe("a host", () => {
  it("is subscribed to when it is asked for, and unknown until there is an answer", () => {
    const { book } = new TestBook({ answersAbsent: false })
    expect(book.ask("web:80")).toBe("unknown")
    expect(book.subscription.names()).toEqual(["web:80"])
  })

  it("that does not exist is absent, which is not unknown", async () => {
    const { book } = new TestBook()
    expect(await book.find("web:80", 5_000)).toBe("absent")
  })

  it("that comes to be is found by whoever waits", async () => {
    const filled = new TestBook()
    const waiting = filled.book.until("web:80", answer => answer instanceof HostRouting, 5_000)
    await filled.set("web:80", SPEC)
    expect(await waiting).toMatchObject({ inTime: true })
  })

  it("keeps its turns across updates, and is named with its version for the next connection", async () => {
    const filled = new TestBook()
    await filled.set("web:80", SPEC)
    const before = filled.book.ask("web:80")
    await filled.set("web:80", SPEC)
    expect(filled.book.ask("web:80")).toBe(before)
    expect(filled.book.subscription.known()).toEqual(new Map([["web:80", "2"]]))
    expect(filled.trust).toEqual(mesh.trust)
  })

  it("that goes is absent, and no longer claimed to be held", async () => {
    const filled = new TestBook()
    await filled.set("web:80", SPEC)
    await filled.remove("web:80")
    expect(filled.book.ask("web:80")).toBe("absent")
    expect(filled.book.subscription.known().size).toBe(0)
  })

  it("asked for longest ago gives way to others", () => {
    const { book } = new TestBook({ answersAbsent: false, limit: 2 })
    for (const name of ["a:1", "b:1", "a:1", "c:1"]) book.ask(name)
    expect(book.subscription.names()).toEqual(["a:1", "c:1"])
  })
})

describe("an update", () => {
  it.each<[string, Uint8Array]>([
    ["that cannot be read", Uint8Array.of(1, 2, 3)],
    [
      "with an expression that is none",
      encodeHostRoutes({
        ...SPEC,
        table: { ...SPEC.table, routes: [{ match: [{ uri: { regex: "(" } }], destinations: [] }] },
      }),
    ],
  ])("%s is refused, and the last good routes stay", async (_, bytes) => {
    const filled = new TestBook()
    await filled.set("web:80", SPEC)
    await expect(filled.setBytes("web:80", bytes)).rejects.toThrow(/the routes of `web:80` cannot be used/)
    expect(filled.book.ask("web:80")).toBeInstanceOf(HostRouting)
    expect(filled.book.subscription.known().get("web:80")).toBe("1")
  })

  it("for a host nobody asked for changes nothing", async () => {
    const filled = new TestBook()
    await filled.setBytes("other:80", encodeHostRoutes(SPEC))
    expect(filled.book.subscription.names()).toEqual([])
  })
})

it("waiting ends when the time is over, or nobody waits any more", async () => {
  const { book } = new TestBook({ answersAbsent: false })
  expect(await book.find("web:80", 1)).toBe("unknown")
  expect(await book.find("web:80", 60_000, AbortSignal.abort())).toBe("unknown")
})
