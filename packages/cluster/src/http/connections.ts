// SPDX-License-Identifier: Apache-2.0
//
// The open connections and their owners. When the limit is exceeded, the owner of the most connections loses the one
// that has been idle longest or, if all are busy, the one used longest ago. Rejecting the new connection instead would
// let any client with enough sockets lock out the system.

import type { Socket } from "node:net"
import { FairPool, remoteKey } from "@merlon/wire/limits"
import type { Share } from "./share.js"

interface Held {
  readonly socket: Socket
  share: Share
  busy: number
  open: boolean
}

export class Connections {
  readonly #held = new Map<string, Held>()
  /** Ordered by last use. Connections of the system are not in it, because they are never closed. */
  readonly #evictable = new FairPool<Held>()

  constructor(readonly most: number) {}

  get count(): number {
    return this.#held.size
  }

  opened(socket: Socket): void {
    // Until a request is authenticated, the address counts as the owner.
    const share = { owner: `address ${remoteKey(socket.remoteAddress) ?? ""}`, system: false }
    const key = nameOf(socket)
    const held: Held = { socket, share, busy: 0, open: true }
    this.#held.set(key, held)
    this.#evictable.add(share.owner, held)
    socket.on("close", () => {
      held.open = false
      this.#evictable.remove(held.share.owner, held)
      if (this.#held.get(key) === held) this.#held.delete(key)
    })
    if (this.#held.size > this.most) this.#victim()?.destroy()
  }

  /**
   * Called when a request of `share` arrives on the connection. Returns a function to call when the response is
   * complete.
   */
  serving(socket: Socket, share: Share): () => void {
    const held = this.#held.get(nameOf(socket))
    if (held === undefined) return () => undefined
    this.#evictable.remove(held.share.owner, held)
    held.share = share
    held.busy++
    this.#used(held)
    return () => {
      held.busy--
      this.#used(held)
    }
  }

  destroyAll(): void {
    for (const { socket } of this.#held.values()) socket.destroy()
  }

  #used(held: Held): void {
    if (held.open && !held.share.system) this.#evictable.add(held.share.owner, held)
  }

  #victim(): Socket | undefined {
    const holdings = this.#evictable.heaviest()
    for (const { busy, socket } of holdings?.members.keys() ?? []) if (busy === 0) return socket
    return holdings?.oldest?.socket
  }
}

/** A TLS socket and the TCP socket below it have the same name. */
function nameOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ""} ${socket.remotePort ?? 0}`
}
