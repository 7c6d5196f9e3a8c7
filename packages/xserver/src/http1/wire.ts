// SPDX-License-Identifier: Apache-2.0
// Bytes from a client's socket, the cheapest way it offers. In clear text the connection is moved to a socket that reads
// into one shared buffer, which saves an allocation and the stream machinery with every read (about a sixth of a
// request's cost); under TLS, or where that is not possible, plain `data` events serve.

import { Socket } from "node:net"
import { TLSSocket } from "node:tls"

export interface WireUser {
  /** Of shared bytes nothing may be kept. */
  onBytes(bytes: Buffer, length: number): void
  /** The peer has said all it wants to say. */
  onEnd(): void
  onDrain(): void
  /** Comes once, last, whatever happened. */
  onClose(): void
}

export interface Wire {
  readonly socket: Socket
  /** Whether the bytes are overwritten by the next read. */
  readonly shared: boolean
}

// INVARIANT: read and used up within one callback; nothing keeps a view of it.
const SHARED = Buffer.allocUnsafeSlow(64 * 1024)

/** Nothing is told before the caller has the wire: reading starts with `resume`. */
export function openWire(socket: Socket, user: WireUser): Wire {
  const adopted = adopt(socket, user)
  const used = adopted ?? socket
  used.on("end", () => user.onEnd())
  used.on("drain", () => user.onDrain())
  // What went wrong is of no use to anybody; `close` follows.
  used.on("error", () => undefined)
  used.on("close", () => user.onClose())
  if (adopted === undefined) {
    used.on("data", chunk => user.onBytes(chunk, chunk.length))
    used.pause()
  } else {
    // Others still know the connection by its first socket: each ends with the other.
    adopted.on("close", () => socket.destroy())
    socket.on("close", () => adopted.destroy())
  }
  return { socket: used, shared: adopted !== undefined }
}

/** The part of Node's stream handles that decides whether a connection can be moved. */
interface Handle {
  useUserBuffer(buffer: Uint8Array): void
}

function adopt(socket: Socket, user: WireUser): Socket | undefined {
  if (socket instanceof TLSSocket || socket.destroyed || socket.readableEnded || socket.readableLength > 0) return
  const handle = handleOf(socket)
  if (handle === undefined) return
  setHandle(socket, null)
  const adopted = socketOn(handle, user)
  if (handleOf(adopted) === handle) return adopted
  setHandle(socket, handle)
  return undefined
}

function socketOn(handle: Handle, user: WireUser): Socket {
  const callback = (length: number): boolean => {
    user.onBytes(SHARED, length)
    return true
  }
  // `handle` is how Node itself builds the sockets of a server; its types leave it out.
  const options = { handle, allowHalfOpen: true, manualStart: true, onread: { buffer: SHARED, callback } }
  return new Socket(options)
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, "_handle")
  return isHandle(handle) ? handle : undefined
}

function setHandle(socket: Socket, handle: Handle | null): void {
  Reflect.set(socket, "_handle", handle)
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "useUserBuffer" in value
}
