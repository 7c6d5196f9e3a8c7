// SPDX-License-Identifier: Apache-2.0
// A resumed TLS session keeps the identity of its handshake, and ends with the conditions under which it was granted.

import { once } from "node:events"
import { describe, expect, it } from "vitest"
import { Authority, GOOD_ID, type Issued } from "./testing/certificates.js"
import { closed, firstLine, listenerBench, naming } from "./testing/listener-bench.js"
import type { Rig } from "./testing/rig.js"

const authority = new Authority()
const { rigWith, secure } = listenerBench(authority)

describe("a session of TLS 1.3", () => {
  const options = { ALPNProtocols: ["h2"], minVersion: "TLSv1.3" } as const

  async function session(rig: Rig, peer: Issued): Promise<Buffer> {
    const socket = secure(rig, options, peer)
    const [, [ticket]] = await Promise.all([firstLine(socket), once(socket, "session")])
    socket.destroy()
    return ticket
  }

  it("is resumed, with its identity", async () => {
    const rig = await rigWith(naming())
    const peer = authority.issue()
    const again = secure(rig, { ...options, session: await session(rig, peer) }, peer)
    expect(await firstLine(again)).toBe(`http2 ${GOOD_ID} -`)
    expect(again.isSessionReused()).toBe(true)
  })

  it("does not survive new credentials", async () => {
    const rig = await rigWith(naming())
    const peer = authority.issue()
    const ticket = await session(rig, peer)
    rig.security.swap(authority.material())
    const again = secure(rig, { ...options, session: ticket }, peer)
    expect(await firstLine(again)).toBe(`http2 ${GOOD_ID} -`)
    expect(again.isSessionReused()).toBe(false)
  })

  it("survives a configuration with the same credentials", async () => {
    const rig = await rigWith(naming())
    const material = authority.material()
    rig.security.swap(material)
    const peer = authority.issue()
    const ticket = await session(rig, peer)
    rig.security.swap({ ...material }, { identities: [], serials: [] })
    const again = secure(rig, { ...options, session: ticket }, peer)
    await firstLine(again)
    expect(again.isSessionReused()).toBe(true)
  })

  it("is not resumed after its authority is removed", async () => {
    const rig = await rigWith(naming())
    const peer = authority.issue()
    const ticket = await session(rig, peer)
    rig.security.swap({ ...authority.material(), trustBundle: new Authority("The new one").certificate })
    await closed(secure(rig, { ...options, session: ticket }, peer))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["untrusted"])
  })

  it("is not resumed after its identity is revoked", async () => {
    const rig = await rigWith(naming())
    const peer = authority.issue()
    const ticket = await session(rig, peer)
    const colons = peer.serial.match(/../g)?.join(":").toLowerCase() ?? ""
    rig.security.swap(authority.material(), { identities: [], serials: [colons] })
    await closed(secure(rig, { ...options, session: ticket }, peer))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["revoked"])
  })
})

it("gives no ticket under TLS 1.2, and resumes nothing", async () => {
  const rig = await rigWith(naming())
  const options = { ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" } as const
  const peer = authority.issue()
  const socket = secure(rig, options, peer)
  await firstLine(socket)
  // RFC 5077: the ticket would contain the master secret of a session that an attacker may have recorded.
  expect(socket.getTLSTicket()).toBeUndefined()
  const session = socket.getSession()
  socket.destroy()
  const again = secure(rig, { ...options, ...(session && { session }) }, peer)
  expect(await firstLine(again)).toBe(`http2 ${GOOD_ID} -`)
  expect(again.isSessionReused()).toBe(false)
})

it("is not renegotiated", async () => {
  const rig = await rigWith(naming())
  const socket = secure(rig, { ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" })
  await firstLine(socket)
  const rejected = new Promise(resolve => socket.once("error", resolve).resume())
  socket.renegotiate({}, () => undefined)
  expect(String(await rejected)).toMatch(/no renegotiation/)
})
