// SPDX-License-Identifier: Apache-2.0
import { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import { expect, it } from "vitest"
import { OwnConnections } from "./own-connections.js"

const POD = "10.244.0.5"
const SERVER = { address: "10.244.0.9", port: 15_080 }

class Ends extends EventEmitter {
  destroyed = false

  constructor(
    ends: Partial<Record<"localAddress" | "remoteAddress", string>>,
    ports: { local: number; remote: number },
  ) {
    super()
    Object.assign(this, ends, { localPort: ports.local, remotePort: ports.remote })
  }

  destroy(): void {
    this.destroyed = true
    this.emit("close")
  }
}

const made = (port: number) =>
  new Ends(
    { localAddress: POD, remoteAddress: SERVER.address },
    { local: port, remote: SERVER.port },
  ) as unknown as Socket
const accepted = (port: number, remoteAddress = POD) =>
  new Ends({ localAddress: "127.0.0.1", remoteAddress }, { local: 15_001, remote: port }) as unknown as Socket

it.each([
  ["its own form", POD],
  ["IPv6 form", `::ffff:${POD}`],
])("recognises a connection that it made before, with the address in %s", (_, address) => {
  const own = new OwnConnections()
  expect(own.made(made(40_000))).toBe(true)
  expect(own.accepted(accepted(40_000, address), SERVER)).toBe(false)
})

it("recognises a connection that it accepted before its connect event", () => {
  const own = new OwnConnections()
  const back = accepted(40_000)
  expect(own.accepted(back, SERVER)).toBe(true)
  expect(own.made(made(40_000))).toBe(false)
  expect(back.destroyed).toBe(true)
})

it("does not mistake a program's connection for its own, although the port number is the same", () => {
  const own = new OwnConnections()
  expect(own.made(made(40_000))).toBe(true)
  expect(own.accepted(accepted(40_000), { address: "10.244.0.8", port: 80 })).toBe(true)
  expect(own.accepted(accepted(40_001), SERVER)).toBe(true)
})

it("forgets connections that have ended", () => {
  const own = new OwnConnections()
  const first = made(40_000)
  own.made(first)
  first.destroy()
  expect(own.accepted(accepted(40_000), SERVER)).toBe(true)
})

it("rejects a looping destination for a second, so that no round makes another", () => {
  let now = 0
  const own = new OwnConnections(() => now)
  own.accepted(accepted(40_000), SERVER)
  own.made(made(40_000))
  expect(own.accepted(accepted(40_001), SERVER)).toBe(false)
  expect(own.accepted(accepted(40_001), { ...SERVER, port: 80 })).toBe(true)
  now = 1_000
  expect(own.accepted(accepted(40_002), SERVER)).toBe(true)
})

it("tracks looping destinations separately, however many there are", () => {
  let now = 0
  const own = new OwnConnections(() => now)
  const loop = (port: number, at: number): void => {
    now = at
    own.accepted(accepted(40_000), { ...SERVER, port })
    const back = new Ends({ localAddress: POD, remoteAddress: SERVER.address }, { local: 40_000, remote: port })
    own.made(back as unknown as Socket)
  }
  loop(80, 0)
  loop(81, 500)
  now = 1_200
  expect(own.accepted(accepted(40_001), { ...SERVER, port: 80 })).toBe(true)
  expect(own.accepted(accepted(40_001), { ...SERVER, port: 81 })).toBe(false)
})
