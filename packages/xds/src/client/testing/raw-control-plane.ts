// SPDX-License-Identifier: Apache-2.0
// A misbehaving control plane for tests: it authenticates correctly and then sends anything the test wants.

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
  /** All that has come, in latin1. */
  readonly heard: () => string
  /** Frames in latin1. */
  readonly say: (frames: string) => void
}

/** HEADERS of stream 1, all of them, without their length. */
const FIRST_CALL = frameHeader(0, FRAME.headers, FLAG.endHeaders, 1).slice(3)

/** `answer` is asked once, when the first call has begun. */
export async function rawControlPlane(answer: (connection: RawConnection) => void, tls: TlsOptions = {}) {
  const authority = new TestAuthority()
  const { chain, privateKey } = authority.server()
  const sockets = new Set<TLSSocket>()
  const heard: string[] = []
  const server = createServer({ cert: chain, key: privateKey, ALPNProtocols: ["h2"], ...tls })
  server.on("tlsClientError", (_, socket) => socket.destroy())
  server.on("secureConnection", socket => {
    sockets.add(socket.on("error", () => undefined))
    const index = heard.push("") - 1
    let answered = false
    const connection: RawConnection = {
      socket,
      heard: () => heard[index] ?? "",
      say: frames => void (socket.destroyed || socket.write(frames, "latin1")),
    }
    connection.say(settingsText([]))
    socket.on("data", bytes => {
      heard[index] += bytes.toString("latin1")
      if (answered || !connection.heard().startsWith(PREFACE) || !connection.heard().includes(FIRST_CALL)) return
      answered = true
      answer(connection)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    authority,
    address: `127.0.0.1:${port}`,
    /** By connection. */
    heard: heard as readonly string[],
    close(): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

export type RawControlPlane = Awaited<ReturnType<typeof rawControlPlane>>

/** A header block, each with an encoder of its own: nothing is in a table. */
export function block(fields: { readonly [name: string]: string }): string {
  const encoder = new HpackEncoder()
  for (const [name, value] of Object.entries(fields)) encoder.field(name, value)
  return encoder.finish()
}
