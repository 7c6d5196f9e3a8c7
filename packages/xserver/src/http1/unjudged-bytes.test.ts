// SPDX-License-Identifier: Apache-2.0
// However many callers leave their requests unfinished, together they hold no more than the budget, and it is fully
// returned.
import { connect } from "node:net"
import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it } from "vitest"
import { startRig } from "../accept/testing/rig.js"
import { Rig } from "./testing/rig.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const LIMIT = 1024 * 1024
const LARGE = "x".repeat(60_000)
const WHOLE = "GET /whole HTTP/1.1\r\nHost: a\r\n\r\n"

async function start(): Promise<Rig> {
  const rig = await Rig.start({
    application: (incoming, reply) => {
      if (incoming.url === "/whole") incoming.resume().on("end", () => reply.end("whole"))
    },
    limits: { unjudgedBytes: LIMIT },
  })
  cleanups.push(() => rig.stop())
  return rig
}

describe.each([
  ["heads", `GET / HTTP/1.1\r\nHost: a\r\nX: ${LARGE}`],
  ["trailers", `POST /whole HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ${LARGE}`],
  [
    "requests sent ahead",
    `GET /wait HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 90000\r\n\r\n${LARGE}`,
  ],
])("unfinished %s", (_, unfinished) => {
  it("never hold more than the budget, leave room for others, and return all of it", async () => {
    const rig = await start()
    const { unjudged } = rig.connections
    const clients = []
    for (let n = 0; n < 40; n++) {
      const client = await rig.client()
      clients.push(client.send(unfinished))
      const polite = await rig.client()
      expect(await polite.send(WHOLE).response()).toMatch(/^HTTP\/1.1 200 [\s\S]*whole$/)
      expect(unjudged.used).toBeLessThanOrEqual(LIMIT)
      polite.socket.destroy()
    }
    await eventually(() => rig.meters.limits.includes("unjudgedBytes"))
    expect(new Set(rig.meters.limits)).toEqual(new Set(["unjudgedBytes"]))
    // The latest connection has held its bytes for the shortest time, so it is not the one that is closed.
    expect(clients.at(-1)?.closed).toBe(false)
    for (const { socket } of clients) socket.resetAndDestroy()
    await eventually(() => rig.connections.size === 0)
    expect([unjudged.used, unjudged.holders]).toEqual([0, 0])
  })
})

it("counts the bytes before their protocol is known", async () => {
  const rig = await startRig({ port: { protocol: "auto" }, limits: { unjudgedBytes: 20_000 } })
  cleanups.push(() => rig.stop())
  for (let n = 0; n < 10; n++) {
    const socket = connect(rig.port, "127.0.0.1").on("error", () => undefined)
    cleanups.push(() => socket.destroy())
    socket.write(`FOO ${"x".repeat(6_000)}`)
    await rig.meters.until(({ open, limits }) => open + limits.length > n)
    expect(rig.connections.unjudged.used).toBeLessThanOrEqual(20_000)
  }
  await rig.meters.until(({ limits }) => limits.length > 0)
  expect(new Set(rig.meters.limits)).toEqual(new Set(["unjudgedBytes"]))
  rig.listener.destroy()
  await rig.meters.until(({ open }) => open === 0)
  expect([rig.connections.unjudged.used, rig.connections.unjudged.holders]).toEqual([0, 0])
})
