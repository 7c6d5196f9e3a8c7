// SPDX-License-Identifier: Apache-2.0
// A connection limiter for sockets: by the peer's address, from accept to close.

import type { Socket } from "node:net"
import { remoteKey } from "./address-key.js"
import { ConnectionLimiter, type ConnectionLimits, type ConnectionSlot } from "./connection-limiter.js"

type Peer = Pick<Socket, "remoteAddress" | "remotePort">

export class SocketLimiter {
  readonly #limiter: ConnectionLimiter
  readonly #slots = new Map<string, ConnectionSlot>()
  readonly #onLimit: (limit: keyof ConnectionLimits) => void

  /** `onLimit`: a connection was closed, the new one or an older one. */
  constructor(limits: ConnectionLimits, onLimit: (limit: keyof ConnectionLimits) => void = () => undefined) {
    this.#limiter = new ConnectionLimiter(limits)
    this.#onLimit = onLimit
  }

  /** Undefined where the socket was closed. */
  accept(socket: Socket): ConnectionSlot | undefined {
    const address = remoteKey(socket.remoteAddress)
    // A peer that has gone already has no address.
    if (address === undefined) {
      socket.destroy()
      return undefined
    }
    const { open, isFull } = this.#limiter
    const slot = this.#limiter.admit(address, () => socket.destroy())
    if (this.#limiter.open === open) this.#onLimit(isFull ? "connections" : "sharePercent")
    if (slot === undefined) {
      socket.destroy()
      return undefined
    }
    const name = nameOf(socket)
    this.#slots.set(name, slot)
    // Comes once by itself: `once` would keep two more objects for as long as the connection lasts.
    socket.on("close", () => {
      slot.release()
      if (this.#slots.get(name) === slot) this.#slots.delete(name)
    })
    return slot
  }

  slotOf(peer: Peer): ConnectionSlot | undefined {
    return this.#slots.get(nameOf(peer))
  }
}

/** The same for a TLS socket and the socket below it, which a server announces in different events. */
function nameOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`
}
