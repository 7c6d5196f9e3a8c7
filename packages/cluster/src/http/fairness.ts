// SPDX-License-Identifier: Apache-2.0
// Shares one server among many users: slots, bytes, watches and connections, and the rejections of users that exceed
// their share. A slot is taken only while the server itself works on a request: a slow body or an unread response counts
// against its owner's bytes, not against the shared slots.

import { Quota } from "@merlon/wire/limits"
import { type ApiError, tooManyRequests } from "../meta/status.js"
import { Backlog } from "./backlog.js"
import { Connections } from "./connections.js"
import type { Limits } from "./limits.js"
import type { Share } from "./share.js"

export interface Load {
  readonly reads: number
  readonly writes: number
  readonly watches: number
  readonly connections: number
  readonly bodyBytes: number
  readonly backlogBytes: number
}

export class Fairness {
  readonly backlog: Backlog
  readonly connections: Connections
  readonly #reads: Quota
  readonly #writes: Quota
  readonly #bodies: Quota
  readonly #watches: Quota

  constructor(limits: Limits) {
    this.#reads = new Quota({ all: limits.readsInFlight, each: limits.readsPerUser, kept: limits.readsKept })
    this.#writes = new Quota({ all: limits.writesInFlight, each: limits.writesPerUser, kept: limits.writesKept })
    this.#bodies = new Quota({ all: limits.bodyBytes, each: limits.bodyBytesPerUser, kept: limits.bodyBytesKept })
    this.#watches = new Quota({ all: Number.POSITIVE_INFINITY, each: limits.watchesPerUser })
    this.backlog = new Backlog({ all: limits.backlogBytes, each: limits.backlogBytesPerUser })
    this.connections = new Connections(limits.maxConnections)
  }

  /** Takes a slot for a complete request. Returns a function that releases it. */
  enter(share: Share, write: boolean): () => void {
    return claim(write ? this.#writes : this.#reads, share, () =>
      tooManyRequests("Too many requests, please try again later.", 1),
    )
  }

  /** Counts the bytes of a body as they arrive. Call `giveBack` when the request is finished. */
  body(share: Share): { take(bytes: number): void; giveBack(): void } {
    let taken = 0
    return {
      take: bytes => {
        if (!this.#bodies.take(share.owner, bytes, share.system))
          throw tooManyRequests("too many bytes of requests are on their way, send fewer at once", 1)
        taken += bytes
      },
      giveBack: () => {
        this.#bodies.release(share.owner, taken)
        taken = 0
      },
    }
  }

  watch(share: Share): () => void {
    return claim(this.#watches, share, () =>
      tooManyRequests(`user "${share.owner}" has too many watches open, close some of them`, 5),
    )
  }

  get load(): Load {
    return {
      reads: this.#reads.used,
      writes: this.#writes.used,
      watches: this.#watches.used,
      connections: this.connections.count,
      bodyBytes: this.#bodies.used,
      backlogBytes: this.backlog.bytes,
    }
  }
}

function claim(quota: Quota, share: Share, rejection: () => ApiError): () => void {
  if (!quota.take(share.owner, 1, share.system)) throw rejection()
  let left = false
  return () => {
    if (left) return
    left = true
    quota.release(share.owner)
  }
}
