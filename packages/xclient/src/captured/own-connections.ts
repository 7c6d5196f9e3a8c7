// SPDX-License-Identifier: Apache-2.0
// Detects capture loops. The rules in the Pod exempt the proxy by its uid. If they do not, a connection that the proxy
// makes is redirected back to it, and each round would make another one.

import type { Socket } from "node:net"
import type { Destination } from "@merlon/wire/native"

/** Both ends of a connection as its client sees them: no two connections have the same at one time. */
function keyOf(source: Destination, destination: Destination): string {
  return `${source.address} ${source.port} ${destination.address} ${destination.port}`
}

/** Each round of a loop takes one turn of the event loop; a looping destination is rejected for longer than that. */
const QUIET_MS = 1_000

export class OwnConnections {
  readonly #now: () => number
  readonly #made = new Set<string>()
  readonly #accepted = new Map<string, Socket>()
  /** End of the rejection, by destination. INVARIANT: the first entry ends first. */
  readonly #looping = new Map<string, number>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /**
   * False if the proxy itself made the connection, or its destination has just turned out to be a loop. `destination`
   * is the original one.
   */
  accepted(socket: Socket, destination: Destination): boolean {
    const { remoteAddress: address = "", remotePort: port = 0 } = socket
    const key = keyOf({ address: plain(address), port }, destination)
    if (this.#made.has(key) || this.#isLooping(destination)) return false
    this.#accepted.set(key, socket)
    socket.once("close", () => this.#accepted.delete(key))
    return true
  }

  /**
   * False if the connection was redirected to the proxy itself, which may have accepted it before its connect event.
   */
  made(socket: Socket): boolean {
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    if (localAddress === undefined || localPort === undefined) return true
    const source = { address: plain(localAddress), port: localPort }
    const destination = { address: plain(remoteAddress ?? ""), port: remotePort ?? 0 }
    const key = keyOf(source, destination)
    const accepted = this.#accepted.get(key)
    if (accepted !== undefined) {
      accepted.destroy()
      this.#looping.delete(nameOf(destination))
      this.#looping.set(nameOf(destination), this.#now() + QUIET_MS)
      return false
    }
    this.#made.add(key)
    socket.once("close", () => this.#made.delete(key))
    return true
  }

  #isLooping(destination: Destination): boolean {
    for (const [name, until] of this.#looping) {
      if (until > this.#now()) break
      this.#looping.delete(name)
    }
    return this.#looping.has(nameOf(destination))
  }
}

function nameOf({ address, port }: Destination): string {
  return `${address} ${port}`
}

/** A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address
}
