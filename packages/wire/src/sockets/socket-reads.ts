// SPDX-License-Identifier: Apache-2.0
// Bytes from a client's socket, the cheapest way it offers: read into the buffer that all connections share. Where that is
// not possible, plain `data` events serve.

import type { Socket } from "node:net"
import { readIntoShared } from "./shared-reads.js"

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

/** Nothing is told before the caller has the wire: reading starts with `resume`. */
export function openWire(socket: Socket, user: WireUser): Wire {
  socket.on("end", () => user.onEnd())
  socket.on("drain", () => user.onDrain())
  // What went wrong is of no use to anybody; `close` follows.
  socket.on("error", () => undefined)
  socket.on("close", () => user.onClose())
  const shared = readIntoShared(socket, (bytes, length) => user.onBytes(bytes, length))
  if (!shared) socket.on("data", chunk => user.onBytes(chunk, chunk.length))
  socket.pause()
  return { socket, shared }
}
