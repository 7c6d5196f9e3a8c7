// SPDX-License-Identifier: Apache-2.0
// Who may resume a session: every process that shares the secret, for as long as nothing has changed.

import { once } from "node:events"
import { createServer } from "node:net"
import { connect, type TLSSocket } from "node:tls"
import { expect, it } from "vitest"
import type { Revocations } from "../config/configuration.js"
import { Connections } from "./connections.js"
import { Terminator } from "./terminator.js"
import { Authority } from "./testing/certificates.js"
import { listening } from "./testing/rig.js"
import { TransportSecurity } from "./transport-security.js"

const authority = new Authority()
const SECRET = Buffer.alloc(32, 1)
const NONE: Revocations = { identities: [], serials: [] }

function keys(secret: Buffer, material = authority.material(), revocations = NONE): string | undefined {
  const security = new TransportSecurity(new Connections(), secret)
  security.swap(material, revocations)
  return security.current?.ticketKeys.toString("hex")
}

it("all processes with one secret have the same keys, until something changes", () => {
  const material = authority.material()
  const usual = keys(SECRET, material)
  expect(keys(SECRET, material)).toBe(usual)
  expect(keys(Buffer.alloc(32, 2), material)).not.toBe(usual)
  expect(keys(SECRET, authority.material())).not.toBe(usual)
  expect(keys(SECRET, material, { identities: ["spiffe://cluster.local/ns/a/sa/b"], serials: [] })).not.toBe(usual)
  expect(keys(SECRET, material, { identities: [], serials: ["0A"] })).not.toBe(usual)
})

it("one process resumes what another has begun, and not after a revocation", async () => {
  const material = authority.material()
  const { certificate, privateKey } = authority.issue()
  const process = async () => {
    const security = new TransportSecurity(new Connections(), SECRET)
    security.swap(material, NONE)
    const terminator = new Terminator({
      security,
      handshakeTimeoutMs: 10_000,
      chooseAlpn: () => undefined,
      onSecure: socket => socket.end("x"),
      onFailure: () => undefined,
    })
    const server = createServer(socket => terminator.terminate(socket.on("error", () => undefined)))
    return { security, server, port: await listening(server) }
  }
  const [one, other] = await Promise.all([process(), process()])
  const dial = (port: number, session?: Buffer): TLSSocket =>
    connect({
      port,
      host: "127.0.0.1",
      ca: authority.certificate,
      cert: certificate,
      key: privateKey,
      checkServerIdentity: () => undefined,
      ...(session === undefined ? {} : { session }),
    }).resume()
  const first = dial(one.port)
  const [session]: Buffer[] = await once(first, "session")
  const again = dial(other.port, session)
  await once(again, "secureConnect")
  expect(again.isSessionReused()).toBe(true)
  other.security.swap(material, { identities: [], serials: ["0A"] })
  const changed = dial(other.port, session)
  await once(changed, "secureConnect")
  expect(changed.isSessionReused()).toBe(false)
  for (const { server } of [one, other]) server.close()
  for (const socket of [first, again, changed]) socket.destroy()
})
