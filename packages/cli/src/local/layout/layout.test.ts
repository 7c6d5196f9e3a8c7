// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { type MeshRecord, newRecord } from "../record/mesh-record.js"
import type { Look, PortState } from "./free-port.js"
import { chooseLayout, type Layout, type LayoutRequest } from "./layout.js"

const REQUEST: LayoutRequest = { samples: true, shop: false, expose: new Map() }
const USUAL = { api: 7_443, mesh: 15_012, webhook: 15_017, health: 15_014, console: 7_080 }

const lookAt =
  (vacancies: { readonly [port: number]: PortState }): Look =>
  async (_, port) =>
    vacancies[port] ?? "free"
/** An ordinary user's machine with other listeners. */
const BUSY = lookAt({ 7443: "taken", 15012: "taken", 8000: "taken", 80: "not permitted" })
const ORDINARY = lookAt({ 80: "not permitted" })

function recordOf({ ports, workloads, ingressPorts, fallbackPorts }: Layout): MeshRecord {
  const supervisor = { pid: 1, started: "1" }
  const names = { phase: "stopped", mesh: "merlon", domain: "merlon.dev" } as const
  return newRecord({ ...names, supervisor, ports, workloads, ingressPorts, fallbackPorts, processes: [] })
}

it("falls back to other ports and says which", async () => {
  const { ports, ingressPorts, notes } = await chooseLayout(REQUEST, undefined, BUSY)
  expect(ports).toEqual({ ...USUAL, api: 7_444, mesh: 15_013 })
  expect(ingressPorts.map(({ port }) => port)).toEqual([8_001, 8_080])
  expect(notes).toEqual([
    "port 7443 is taken: the API is at 7444",
    "port 15012 is taken: the proxies' stream is at 15013",
    "port 8000 is taken: httpbin.foo is at 8001",
    "port 80 is not permitted: web.app is at 8080",
  ])
})

it("gives fallback ports up once the usual ones are free", async () => {
  const before = recordOf(await chooseLayout(REQUEST, undefined, BUSY))
  const after = await chooseLayout(REQUEST, before, ORDINARY)
  expect(after.ports).toEqual(USUAL)
  expect(after.ingressPorts.map(({ port }) => port)).toEqual([8_000, 8_080])
  expect(after.fallbackPorts).toEqual([8_080])
})

it("keeps a requested port without the flag", async () => {
  const before = recordOf(await chooseLayout({ ...REQUEST, apiPort: 9_443 }, undefined, ORDINARY))
  expect((await chooseLayout(REQUEST, before, ORDINARY)).ports.api).toBe(9_443)
})

it("keeps the port that other machines connect to", async () => {
  const open = { ...REQUEST, meshListen: "0.0.0.0" }
  const before = recordOf(await chooseLayout(open, undefined, BUSY))
  expect((await chooseLayout(open, before, ORDINARY)).ports).toEqual({ ...USUAL, mesh: 15_013 })
})
