// SPDX-License-Identifier: Apache-2.0
// Keeps one etcd watch open for the lifetime of the store. After a lost connection it continues on the next endpoint,
// right after the last revision of the replica. Responses arrive in order, so no change is missed or repeated.

import type { ClientDuplexStream } from "@grpc/grpc-js"
import type { WholeState } from "./calls.js"
import type { Connection } from "./connection.js"
import type { KeyNames } from "./key-names.js"
import { encodeWatchCreate, type WatchResponse } from "./messages.js"
import type { Change, Replica } from "./replica.js"

const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 2_000

/** etcd no longer has all changes after the replica's last revision. */
class HistoryLost extends Error {}

export class Feed {
  #stream: ClientDuplexStream<Buffer, WatchResponse> | undefined
  #closed = false
  #wake: (() => void) | undefined
  readonly #done: Promise<void>

  constructor(
    readonly connection: Connection,
    readonly names: KeyNames,
    readonly replica: Replica,
    readonly readAll: () => Promise<WholeState>,
  ) {
    this.#done = this.#run()
  }

  /** Ends the pause before the next attempt, because etcd has just responded to another request. */
  hurry(): void {
    this.#wake?.()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stream?.cancel()
    this.#wake?.()
    await this.#done
  }

  async #run(): Promise<void> {
    let pause = MIN_PAUSE_MS
    while (!this.#closed) {
      const before = this.replica.revision
      try {
        await this.#session()
      } catch (error) {
        if (this.#closed) return
        if (error instanceof HistoryLost) await this.#catchUp()
      }
      pause = this.replica.revision > before ? MIN_PAUSE_MS : Math.min(pause * 2, MAX_PAUSE_MS)
      await this.#rest(pause)
    }
  }

  async #catchUp(): Promise<void> {
    try {
      const { state, revision } = await this.readAll()
      this.replica.catchUp(state, revision)
    } catch {
      // etcd is unavailable again. The next session detects the lost history and retries.
    }
  }

  /** Ends only with an error, because a watch does not end by itself. */
  async #session(): Promise<never> {
    const stream = await this.connection.watch()
    this.#stream = stream
    try {
      return await new Promise<never>((_, reject) => {
        stream.on("error", reject)
        stream.on("end", () => reject(new Error("etcd ended the watch")))
        stream.on("data", (response: WatchResponse) => {
          if (response.canceled) reject(rejection(response))
          else if (!response.created) this.#take(response)
        })
        stream.write(encodeWatchCreate({ ...this.names.all, startRevision: this.replica.revision + 1 }))
        if (this.#closed) reject(new Error("closed"))
      })
    } catch (error) {
      if (!(error instanceof HistoryLost)) this.connection.failed(stream, error)
      throw error
    } finally {
      // Events that still arrive belong to the closed session; the next session receives them again.
      stream.removeAllListeners("data")
      stream.on("error", () => undefined)
      stream.cancel()
      this.#stream = undefined
    }
  }

  #take({ events, revision }: WatchResponse): void {
    const changes: Change[] = []
    let last = events.length === 0 ? revision : 0
    for (const { deleted, kv } of events) {
      // The revision of the response may be ahead of its events, because etcd sends a long history in several
      // responses.
      last = kv.modRevision
      const key = this.names.fromEtcd(kv.key)
      if (key === undefined) continue
      changes.push(deleted ? { revision: last, key } : { revision: last, key, kv: { ...kv, key } })
    }
    this.replica.apply(changes, last)
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      if (this.#closed) this.#wake()
    })
  }
}

function rejection({ compactRevision, cancelReason }: WatchResponse): Error {
  return compactRevision > 0 ? new HistoryLost() : new Error(cancelReason)
}
