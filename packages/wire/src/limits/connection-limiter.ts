// SPDX-License-Identifier: Apache-2.0
// Limits how many connections a listener holds, in total and per address. A connection is idle unless it is being
// served. Instead of rejecting a new connection, a full listener closes the longest-idle connection of the address that
// holds most, and an address that has used up its share loses its own longest-idle one. So connections that send
// nothing never lock out a client with a request. A new connection is rejected only if every candidate is being served.

import type { Socket } from "node:net"
import { remoteKey } from "./address-key.js"
import { FairPool } from "./fair-pool.js"
import { Quota } from "./quota.js"

export interface ConnectionLimits {
  readonly connections: number
  /** The share of one address while no other has any connection, in percent; 100 means no shares. */
  readonly sharePercent: number
}

/** The slot of one connection. */
export interface ConnectionSlot {
  /** The connection is being served and must stay open. Calls are counted: each needs its `idle`. */
  busy(): void
  idle(): void
  /** The connection has closed. */
  release(): void
}

type Peer = Pick<Socket, "remoteAddress" | "remotePort">

export class ConnectionLimiter {
  readonly #shares: Quota
  /** By address, in the order in which they became idle. */
  readonly #idle = new FairPool<Slot>()
  readonly #bySocket = new Map<string, ConnectionSlot>()
  readonly #onLimit: (limit: keyof ConnectionLimits) => void

  /** `onLimit`: a connection was closed, either the new one or an older one. */
  constructor(
    { connections, sharePercent }: ConnectionLimits,
    onLimit: (limit: keyof ConnectionLimits) => void = () => undefined,
  ) {
    this.#shares = new Quota({ all: connections, sharePercent })
    this.#onLimit = onLimit
  }

  get open(): number {
    return this.#shares.used
  }

  /** `address` is an address key; `close` closes the connection. Undefined if the connection must be rejected. */
  admit(address: string, close: () => void): ConnectionSlot | undefined {
    if (!this.#shares.mayTake(address) && !this.#makeRoom(address)) return undefined
    this.#shares.add(address)
    return new Slot(address, close, this.#idle, () => this.#shares.release(address))
  }

  /** Admits the socket under its peer's address until it closes. Undefined if it was rejected, and closed. */
  accept(socket: Socket): ConnectionSlot | undefined {
    const address = remoteKey(socket.remoteAddress)
    // A socket that has closed already has no address.
    if (address === undefined) {
      socket.destroy()
      return undefined
    }
    const { used, isFull } = this.#shares
    const slot = this.admit(address, () => socket.destroy())
    if (this.#shares.used === used) this.#onLimit(isFull ? "connections" : "sharePercent")
    if (slot === undefined) {
      socket.destroy()
      return undefined
    }
    const name = nameOf(socket)
    this.#bySocket.set(name, slot)
    // The event comes once anyway, and `once` would keep two more objects for the life of the connection.
    socket.on("close", () => {
      slot.release()
      if (this.#bySocket.get(name) === slot) this.#bySocket.delete(name)
    })
    return slot
  }

  slotOf(peer: Peer): ConnectionSlot | undefined {
    return this.#bySocket.get(nameOf(peer))
  }

  #makeRoom(address: string): boolean {
    const own = this.#idle.of(address)
    const heaviest = this.#shares.isFull ? this.#idle.heaviest() : undefined
    // Two clients of one address must not close each other's connections while other addresses hold as many each.
    const isModest = heaviest !== undefined && heaviest.amount >= this.#shares.held(address)
    const victim = (isModest ? heaviest : (own ?? heaviest))?.oldest
    if (victim === undefined) return false
    victim.release()
    victim.close()
    return true
  }
}

class Slot implements ConnectionSlot {
  readonly close: () => void
  readonly #address: string
  readonly #idle: FairPool<Slot>
  readonly #released: () => void
  #uses = 0
  #isReleased = false

  constructor(address: string, close: () => void, idle: FairPool<Slot>, released: () => void) {
    this.close = close
    this.#address = address
    this.#idle = idle
    this.#released = released
    idle.add(address, this)
  }

  busy(): void {
    if (this.#uses++ === 0) this.#idle.remove(this.#address, this)
  }

  idle(): void {
    if (--this.#uses === 0 && !this.#isReleased) this.#idle.add(this.#address, this)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#idle.remove(this.#address, this)
    this.#released()
  }
}

/** The same name for a TLS socket and the socket below it, which a server announces in different events. */
function nameOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`
}
