// SPDX-License-Identifier: Apache-2.0
// All connections that handlers own, so that a change of policies or mode, a revocation or a shutdown reaches the open
// ones. Handlers of all protocols register here and define what draining means for them.

import type { SpiffeId } from "@merlon/policy/request"
import { ByteBudget } from "@merlon/wire/limits"
import { DEFAULT_LIMITS, type Limits } from "../limits.js"
import type { PeerChain } from "./trusted-chain.js"

/** Why a connection drains: its port's mode no longer allows it, its Pod terminates, or the process shuts down. */
export type DrainReason = "mode" | "termination" | "shutdown"

export interface LiveConnection {
  /** The application port. */
  readonly port: number
  /** The protocol that its bytes are read as. */
  readonly protocol: "http" | "tcp"
  /** The peer proved no identity to us: cleartext, or TLS that only the application can read. */
  readonly plaintext: boolean
  readonly peer: SpiffeId | undefined
  /** Serial number of the peer's certificate, as in revocations. */
  readonly serial: string | undefined
  /** The certificates that the peer authenticated with; undefined if there were none, or the peer has disconnected. */
  readonly chain: PeerChain | undefined
  /** Judges requests in flight by the current policies and mode, and ends those that are denied. */
  judgeAgain(): void
  /**
   * Ends the connection because its peer, or the root that its peer authenticated with, was revoked, and logs that as
   * the reason.
   */
  revoke(): void
  /**
   * Accepts no further requests: an idle connection closes at once, a busy one after its current request. In a Pod that
   * terminates, the application still serves, so an idle connection first gets time for one more request. The response
   * to it announces that the connection closes.
   */
  drain(reason: DrainReason): void
  /** Ends the connection at once. */
  destroy(): void
}

/** How many connections are judged again before the event loop gets a turn. */
const BATCH_SIZE = 500

export class Connections {
  /** Bytes that callers have sent on all connections and that no policy has evaluated yet. */
  readonly unjudged: ByteBudget
  readonly #live = new Set<LiveConnection>()
  #draining = false

  constructor({ unjudgedBytes }: Pick<Limits, "unjudgedBytes"> = DEFAULT_LIMITS) {
    this.unjudged = new ByteBudget(unjudgedBytes)
  }

  get size(): number {
    return this.#live.size
  }

  /** Returns a function that removes the connection; the caller calls it on close. */
  add(connection: LiveConnection): () => void {
    this.#live.add(connection)
    return () => {
      this.#live.delete(connection)
    }
  }

  /** Called after a port's mode has become STRICT. */
  drainPlaintext(port: number): void {
    this.#each(connection => connection.plaintext && connection.port === port, drainByMode)
  }

  /** Called after a port's mode has become DISABLE, which allows no identities. */
  drainEncrypted(port: number): void {
    this.#each(connection => !connection.plaintext && connection.port === port, drainByMode)
  }

  /**
   * Called after a port's declared protocol has changed. HTTP is evaluated as HTTP under both `http` and `auto`, and
   * continues. Bytes continue only under `tcp`: elsewhere they might contain requests that no policy has evaluated.
   */
  endOtherProtocols(port: number, declared: "http" | "tcp" | "auto"): void {
    const kept = declared === "tcp" ? "tcp" : "http"
    this.#each(connection => connection.port === port && connection.protocol !== kept, end)
  }

  /** Whether every response must tell the caller to connect elsewhere. */
  get draining(): boolean {
    return this.#draining
  }

  /** The Pod terminates: callers leave one by one, and what they send meanwhile is still answered. */
  startDraining(): void {
    this.#draining = true
    this.#each(
      () => true,
      connection => connection.drain("termination"),
    )
  }

  drainAll(): void {
    this.#each(
      () => true,
      connection => connection.drain("shutdown"),
    )
  }

  destroyAll(): void {
    this.#each(() => true, end)
  }

  /** Ends every connection whose peer the predicate names. */
  revokeWhere(named: (connection: LiveConnection) => boolean): void {
    this.#each(named, connection => connection.revoke())
  }

  /**
   * Called after a change. Resolves when all connections have been judged. There may be many, so it yields to the event
   * loop in between.
   */
  async judgeAgain(): Promise<void> {
    let judged = 0
    for (const connection of [...this.#live]) {
      connection.judgeAgain()
      if (++judged % BATCH_SIZE === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }

  // Iterates over a copy, because connections that end remove themselves from the set.
  #each(chosen: (connection: LiveConnection) => boolean, act: (connection: LiveConnection) => void): void {
    for (const connection of [...this.#live]) if (chosen(connection)) act(connection)
  }
}

function drainByMode(connection: LiveConnection): void {
  connection.drain("mode")
}

function end(connection: LiveConnection): void {
  connection.destroy()
}
