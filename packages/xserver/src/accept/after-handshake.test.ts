// SPDX-License-Identifier: Apache-2.0
// A connection is judged by the mode, the revocations and the roots that are current when it is handed over, even if
// they changed during the handshake or between it and the first bytes.
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls"
import { meshConfig } from "@merlon/policy/mesh"
import { afterEach, describe, expect, it } from "vitest"
import type { TlsFailure } from "../observe/meters.js"
import type { Accepted } from "./accepted.js"
import { Authority, GOOD_ID } from "./testing/certificates.js"
import { listening, type Rig, startRig } from "./testing/rig.js"

const authority = new Authority()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(handed: Accepted[], protocol: "http" | "auto"): Promise<Rig> {
  const handle = (accepted: Accepted): void => {
    handed.push(accepted)
    accepted.socket.resume().write("handed")
  }
  const handlers = () => ({ http1: handle, http2: handle, tcp: handle })
  const rig = await startRig({ authority, handlers, port: { protocol } })
  cleanups.push(() => rig.stop())
  return rig
}

/** A relay to the port that holds back the server's bytes until `release`, so that the handshake cannot complete. */
async function holding(rig: Rig): Promise<{ port: number; answered: Promise<unknown>; release: () => void }> {
  const held: { client: Socket; server: Socket }[] = []
  let answered: (value: unknown) => void = () => undefined
  const first = new Promise(resolve => {
    answered = resolve
  })
  const relay: Server = createServer(client => {
    const server = connect(rig.port, "127.0.0.1").on("error", () => client.destroy())
    client.on("error", () => server.destroy()).on("close", () => server.destroy())
    client.pipe(server)
    server.once("readable", answered)
    server.on("close", () => client.destroy())
    held.push({ client, server })
  })
  cleanups.push(() => relay.close())
  const release = (): void => {
    for (const { client, server } of held) server.pipe(client)
  }
  return { port: await listening(relay), answered: first, release }
}

function dial(port: number, options: ConnectionOptions = {}): TLSSocket {
  const { certificate, privateKey } = authority.issue()
  const own = { cert: certificate, key: privateKey, rejectUnauthorized: false, ALPNProtocols: ["merlon"] }
  const socket = connectTls({ host: "127.0.0.1", port, ...own, ...options })
  cleanups.push(() => socket.destroy())
  return socket.on("error", () => undefined)
}

const revoke = (rig: Rig) => rig.security.swap(authority.material(), { identities: [GOOD_ID], serials: [] })
const other = (rig: Rig) => rig.security.swap(authority.material(), { identities: [`${GOOD_ID}-x`], serials: [] })

const replaced = (rig: Rig) => rig.security.swap(new Authority("Another test authority").material())
const moved = ({ gate }: Rig) => {
  const { program } = gate
  gate.swap({ ...program, mesh: meshConfig({ trustDomain: "new.example" }) })
}

describe.each<[string, (rig: Rig) => void, TlsFailure | undefined]>([
  ["the mode becomes DISABLE", rig => rig.setMode("DISABLE"), "tls-not-accepted"],
  ["the caller is revoked", revoke, "revoked"],
  ["the mode becomes STRICT", rig => rig.setMode("STRICT"), undefined],
  ["another identity is revoked", other, undefined],
  ["the caller's root is removed", replaced, "untrusted"],
  ["the caller's trust domain is no longer the mesh's", moved, "wrong-trust-domain"],
])("when %s", (_, change, failure) => {
  it("during a handshake, the connection is judged by the new state", async () => {
    const handed: Accepted[] = []
    const rig = await start(handed, "http")
    const { port, answered, release } = await holding(rig)
    const socket = dial(port)
    await answered
    change(rig)
    release()
    // A revoked peer is closed even if it sends nothing.
    if (failure !== "revoked") socket.once("secureConnect", () => socket.write("GET / HTTP/1.1\r\n\r\n"))
    if (failure === undefined) expect(String((await once(socket, "data"))[0])).toBe("handed")
    else await rig.meters.until(({ failures }) => failures.includes(failure))
    expect(handed.length).toBe(failure === undefined ? 1 : 0)
  })

  it.each(["http", "auto"] as const)("between a handshake and the first bytes on a %s port", async protocol => {
    const handed: Accepted[] = []
    const rig = await start(handed, protocol)
    // In TLS 1.2 the server sends last, so the server is done when the client is.
    const socket = dial(rig.port, { maxVersion: "TLSv1.2" })
    await once(socket, "secureConnect")
    change(rig)
    socket.write("GET / HTTP/1.1\r\n\r\n")
    if (failure === undefined) expect(String((await once(socket, "data"))[0])).toBe("handed")
    else await rig.meters.until(({ failures }) => failures.includes(failure))
    expect(handed.length).toBe(failure === undefined ? 1 : 0)
  })
})
