// SPDX-License-Identifier: Apache-2.0
// A misbehaving control plane for tests: it completes the handshake with a valid certificate and then sends whatever
// the test wants.

import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer, type TLSSocket, type TlsOptions } from "node:tls"
import {
  FLAG,
  HTTP2_FRAME as FRAME,
  frameHeader,
  HpackEncoder,
  HTTP2_PREFACE as PREFACE,
  settingsText,
} from "@merlon/wire"
import { TestAuthority } from "../../testing/test-authority.js"

export interface RawConnection {
  readonly socket: TLSSocket
  /** All bytes received so far, as latin1. */
  readonly received: () => string
  /** Sends frames in latin1. */
  readonly send: (frames: string) => void
}

/** The header of HEADERS frames of stream 1, without the length. */
const FIRST_CALL = frameHeader(0, FRAME.headers, FLAG.endHeaders, 1).slice(3)

/** `answer` is called once, when the first call has begun. */
export async function rawControlPlane(answer: (connection: RawConnection) => void, tls: TlsOptions = {}) {
  const authority = new TestAuthority()
  const { chain, privateKey } = authority.server()
  const sockets = new Set<TLSSocket>()
  const received: string[] = []
  const server = createServer({ cert: chain, key: privateKey, ALPNProtocols: ["h2"], ...tls })
  server.on("tlsClientError", (_, socket) => socket.destroy())
  server.on("secureConnection", socket => {
    sockets.add(socket.on("error", () => undefined))
    const index = received.push("") - 1
    let answered = false
    const connection: RawConnection = {
      socket,
      received: () => received[index] ?? "",
      send: frames => void (socket.destroyed || socket.write(frames, "latin1")),
    }
    connection.send(settingsText([]))
    socket.on("data", bytes => {
      received[index] += bytes.toString("latin1")
      if (answered || !connection.received().startsWith(PREFACE) || !connection.received().includes(FIRST_CALL)) return
      answered = true
      answer(connection)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // TCP servers have this form
  return {
    authority,
    address: `127.0.0.1:${port}`,
    /** Received bytes by connection. */
    received: received as readonly string[],
    close(): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

export type RawControlPlane = Awaited<ReturnType<typeof rawControlPlane>>

/** A header block from a new encoder, so that nothing is in its table. */
export function block(fields: { readonly [name: string]: string }): string {
  const encoder = new HpackEncoder()
  for (const [name, value] of Object.entries(fields)) encoder.field(name, value)
  return encoder.finish()
}
