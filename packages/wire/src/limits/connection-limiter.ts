// SPDX-License-Identifier: Apache-2.0
// How many connections a listener holds, in total and for one address. A connection is idle until it is being served. Instead of
// rejecting a new connection, a full listener closes the connection that has been idle longest of the address with most, and an
// address that has used its share loses its own: connections that send nothing never lock out a client that has a request. Only
// where every candidate is being served is the new connection rejected.

import type { Socket } from "node:net"
import { remoteKey } from "./address-key.js"
import { FairPool } from "./fair-pool.js"
import { Quota } from "./quota.js"

export interface ConnectionLimits {
  readonly connections: number
  /** What one address gets while no other has any connection, in percent; 100 for no shares. */
  readonly sharePercent: number
}

/** One connection's place. */
export interface ConnectionSlot {
  /** The connection is being served, and stays. Counted: each call needs its `idle`. */
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

  /** `onLimit`: a connection was closed, the new one or an older one. */
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

  /** `address` is an address key. `close` ends the connection. Undefined where the connection must be rejected. */
  admit(address: string, close: () => void): ConnectionSlot | undefined {
    if (!this.#shares.mayTake(address) && !this.#makeRoom(address)) return undefined
    this.#shares.add(address)
    return new Slot(address, close, this.#idle, () => this.#shares.release(address))
  }

  /** By the peer's address, until the socket closes. Undefined where the socket was rejected, and closed. */
  accept(socket: Socket): ConnectionSlot | undefined {
    const address = remoteKey(socket.remoteAddress)
    // A peer that has gone already has no address.
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
    // Comes once by itself: `once` would keep two more objects for as long as the connection lasts.
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
    // Two clients of one address must not close each other's connections while strangers hold as many each.
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

/** The same for a TLS socket and the socket below it, which a server announces in different events. */
function nameOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`
}
