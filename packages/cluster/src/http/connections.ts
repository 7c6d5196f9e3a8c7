// SPDX-License-Identifier: Apache-2.0
//
// Who holds the connections. When there is no room for another, whoever has the most loses the one that has been idle
// longest (or, with none idle, the oldest): refusing the newcomer instead would let anybody with enough sockets lock the
// system out.

import type { Socket } from "node:net"
import { remoteKey } from "@merlon/wire/limits"
import type { Share } from "./share.js"

interface Held {
  readonly socket: Socket
  share: Share
  busy: number
  /** Grows with every use, so that the smallest was used longest ago. */
  used: number
}

export class Connections {
  readonly #held = new Map<string, Held>()
  #clock = 0

  constructor(readonly most: number) {}

  get count(): number {
    return this.#held.size
  }

  opened(socket: Socket): void {
    // Until a request has said who it is, an address is all there is to go by.
    const share = { owner: `address ${remoteKey(socket.remoteAddress) ?? ""}`, system: false }
    const key = nameOf(socket)
    this.#held.set(key, { socket, share, busy: 0, used: this.#clock++ })
    socket.on("close", () => this.#held.delete(key))
    if (this.#held.size > this.most) (this.#victim() ?? socket).destroy()
  }

  /** A request of `share` came on the connection; returns what tells that it has been answered. */
  serving(socket: Socket, share: Share): () => void {
    const held = this.#held.get(nameOf(socket))
    if (held === undefined) return () => undefined
    held.share = share
    held.busy++
    held.used = this.#clock++
    return () => {
      held.busy--
      held.used = this.#clock++
    }
  }

  destroyAll(): void {
    for (const { socket } of this.#held.values()) socket.destroy()
  }

  #victim(): Socket | undefined {
    const counts = new Map<string, number>()
    for (const { share } of this.#held.values())
      if (!share.system) counts.set(share.owner, (counts.get(share.owner) ?? 0) + 1)
    let owner: string | undefined
    for (const [name, count] of counts) if (owner === undefined || count > (counts.get(owner) ?? 0)) owner = name
    let victim: Held | undefined
    for (const held of this.#held.values()) {
      if (held.share.owner !== owner) continue
      if (victim === undefined || rank(held) < rank(victim)) victim = held
    }
    return victim?.socket
  }
}

/** Idle before busy, then by last use. */
function rank({ busy, used }: Held): number {
  return (busy > 0 ? Number.MAX_SAFE_INTEGER / 2 : 0) + used
}

/** A TLS socket and the one beneath it have this in common. */
function nameOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ""} ${socket.remotePort ?? 0}`
}
