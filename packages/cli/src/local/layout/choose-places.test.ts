// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { choosePlaces, USUAL } from "./choose-places.js"
import type { Look } from "./free-port.js"

const everything: Look = async () => "free"
const except =
  (...taken: readonly string[]): Look =>
  async (address, port) =>
    taken.some(pattern => new RegExp(`^${pattern}$`).test(`${address}:${port}`)) ? "taken" : "free"

const request = { count: 2, block: undefined, remembered: [] }
const block = (n: number) => [1, 2].map(i => ({ address: `127.${n}.0.${i}`, ...USUAL }))

describe("the places of the samples", () => {
  it("are separate addresses with the usual ports", async () => {
    expect(await choosePlaces(request, everything)).toEqual({ places: block(1), note: undefined })
  })

  it("are in the next block if another mesh uses one of the first", async () => {
    const { places, note } = await choosePlaces(request, except("127.1.0.2:15000", "127.2.0.1:15080"))
    expect(places).toEqual(block(3))
    expect(note).toContain("127.3.0.x")
  })

  it("are the previous ones", async () => {
    expect((await choosePlaces({ ...request, remembered: block(7) }, everything)).places).toEqual(block(7))
  })

  it("are the previous ones even if proxies accepted no calls then", async () => {
    const before = block(7).map(({ address, xserver, admin, health, application }) => ({
      address,
      xserver,
      admin,
      health,
      application,
    }))
    expect((await choosePlaces({ ...request, remembered: before }, everything)).places).toEqual(block(7))
  })

  it("are new ones if the previous ones are taken", async () => {
    const { places } = await choosePlaces({ ...request, remembered: block(7) }, except("127.7.0.1:8080"))
    expect(places).toEqual(block(1))
  })

  it("are the usual ones again once they are free", async () => {
    const before = block(1).map(place => ({ ...place, xserver: 15_090 }))
    expect((await choosePlaces({ ...request, remembered: before }, everything)).places).toEqual(block(1))
  })

  it("are in the requested block or an error", async () => {
    expect((await choosePlaces({ ...request, block: 9 }, everything)).places).toEqual(block(9))
    await expect(choosePlaces({ ...request, block: 9 }, except("127.9.0.1:8080"))).rejects.toThrow("127.9.0.x")
  })

  it("have separate ports on a system with one loopback address", async () => {
    const one: Look = async (address, port) =>
      address !== "127.0.0.1" ? "no such address" : port === 15_081 ? "taken" : "free"
    const { places, note } = await choosePlaces(request, one)
    expect(places).toEqual([
      { address: "127.0.0.1", xserver: 15_080, admin: 15_000, health: 15_021, outbound: 15_001, application: 8_080 },
      { address: "127.0.0.1", xserver: 15_082, admin: 15_002, health: 15_022, outbound: 15_003, application: 8_081 },
    ])
    expect(note).toContain("one loopback address")
  })

  it("have another port if a process listens on one at every address", async () => {
    const { places, note } = await choosePlaces(request, except(".*:8080"))
    expect(places).toEqual(block(1).map(place => ({ ...place, application: 8_081 })))
    expect(note).toContain("at every address")
  })
})
