// SPDX-License-Identifier: Apache-2.0
// Listeners and their clients for one test file, closed after each test.
import { connect as connectTcp, type Socket } from "node:net"
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls"
import { afterEach } from "vitest"
import type { Accepted, ConnectionHandler } from "../accepted.js"
import type { Authority, Issued } from "./certificates.js"
import { type Rig, type RigOptions, startEcho, startRig } from "./rig.js"

/** Call once per file, outside of its tests. */
export function listenerBench(authority: Authority) {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })
  async function rigWith(options: RigOptions = {}): Promise<Rig> {
    const rig = await startRig({ authority, ...options })
    cleanups.push(() => rig.stop())
    return rig
  }

  async function echoPort(): Promise<number> {
    const echo = await startEcho()
    cleanups.push(() => echo.close())
    return echo.port
  }

  function plain(rig: Rig, text = ""): Socket {
    const socket = connectTcp({ host: "127.0.0.1", port: rig.port }).on("error", () => undefined)
    cleanups.push(() => socket.destroy())
    if (text !== "") socket.write(text, "latin1")
    return socket
  }

  function secure(rig: Rig, options: ConnectionOptions = {}, peer: Issued | undefined = authority.issue()): TLSSocket {
    const own = peer === undefined ? {} : { cert: peer.certificate, key: peer.privateKey }
    const target = {
      host: "127.0.0.1",
      port: rig.port,
      ca: authority.certificate,
      checkServerIdentity: () => undefined,
    }
    const socket = connectTls({ ...target, ...own, ...options }).on("error", () => undefined)
    cleanups.push(() => socket.destroy())
    return socket
  }

  return { cleanups, echoPort, plain, rigWith, secure }
}

/** Handlers that answer with their name and what they were given, one line per connection. */
export function naming(seen: Accepted[] = []): {
  handlers: () => Record<"http1" | "http2" | "tcp", ConnectionHandler>
} {
  const as = (name: string): ConnectionHandler => {
    return accepted => {
      seen.push(accepted)
      const { socket, connection, head } = accepted
      socket.on("error", () => undefined)
      socket.write(
        `${name} ${connection.peer?.uri ?? "plaintext"} ${connection.sni ?? "-"} ${head.toString("latin1")}\n`,
      )
      socket.resume()
    }
  }
  return { handlers: () => ({ http1: as("http1"), http2: as("http2"), tcp: as("tcp") }) }
}

/** Resolves on `close`, whatever caused it. */
export function closed(socket: Socket): Promise<void> {
  return new Promise(resolve => void socket.once("close", () => resolve()).resume())
}

export async function firstLine(socket: Socket): Promise<string> {
  let text = ""
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.includes("\n")) break
  }
  return text.trim()
}
