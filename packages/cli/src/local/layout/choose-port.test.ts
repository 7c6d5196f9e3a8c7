// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { choosePort, type PortRequest } from "./choose-port.js"
import type { Look, PortState } from "./free-port.js"

const lookAt =
  (taken: { readonly [port: number]: PortState }): Look =>
  async (_, port) =>
    taken[port] ?? "free"

const api: PortRequest = { what: "the API", usual: 7443 }

describe("a port", () => {
  test.each<[string, PortRequest, { [port: number]: PortState }, number, string | undefined]>([
    ["is the usual one", api, {}, 7443, undefined],
    ["is the next one where that is taken", api, { 7443: "taken", 7444: "taken" }, 7445, "port 7443 is taken"],
    ["is the one it was before", { ...api, remembered: 7450 }, {}, 7450, undefined],
    [
      "moves where the one before is taken",
      { ...api, remembered: 7450 },
      { 7450: "taken" },
      7444,
      "port 7450 is taken",
    ],
    [
      "goes back to the usual one after a fallback",
      { ...api, remembered: 7450, wasFallback: true },
      {},
      7443,
      undefined,
    ],
    [
      "stays at the fallback while the usual one is taken",
      { ...api, remembered: 7450, wasFallback: true },
      { 7443: "taken" },
      7450,
      "port 7443 is taken: the API is at 7450",
    ],
    [
      "leaves a fallback that is taken as well",
      { ...api, remembered: 7450, wasFallback: true },
      { 7443: "taken", 7450: "taken" },
      7444,
      "port 7443 is taken: the API is at 7444",
    ],
    ["is the one asked for", { ...api, asked: 9000, remembered: 7450 }, {}, 9000, undefined],
    [
      "is another one without privileges",
      { what: "web", usual: 80, otherwise: 8080 },
      { 80: "not permitted" },
      8080,
      "port 80 is not permitted: web is at 8080",
    ],
  ])("%s", async (_, request, taken, port, note) => {
    const chosen = await choosePort(request, "127.0.0.1", lookAt(taken), new Set())
    expect(chosen.port).toBe(port)
    if (note === undefined) expect(chosen.note).toBeUndefined()
    else expect(chosen.note).toContain(note)
    expect(chosen.isFallback).toBe(note !== undefined)
  })

  it("is an error if the requested one is taken", async () => {
    const chosen = choosePort({ ...api, asked: 9000 }, "127.0.0.1", lookAt({ 9000: "taken" }), new Set())
    await expect(chosen).rejects.toThrow("port 9000 for the API is taken")
  })

  it("is given to one listener only", async () => {
    const used = new Set<number>()
    const first = await choosePort(api, "127.0.0.1", lookAt({}), used)
    const second = await choosePort({ ...api, what: "another" }, "127.0.0.1", lookAt({}), used)
    expect([first.port, second.port]).toEqual([7443, 7444])
  })

  it("is not searched for indefinitely", async () => {
    const chosen = choosePort(api, "127.0.0.1", async () => "taken", new Set())
    await expect(chosen).rejects.toThrow("no free port")
  })
})
