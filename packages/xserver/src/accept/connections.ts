// SPDX-License-Identifier: Apache-2.0
// All connections that handlers own, so that a change of policies or mode, a revocation or a shutdown reaches open ones.
// Handlers of all protocols register here and define what draining means for them.

import type { SpiffeId } from "@merlon/policy/request"
import { ByteBudget } from "@merlon/wire/limits"
import { DEFAULT_LIMITS, type Limits } from "../limits.js"
import type { PeerChain } from "./trusted-chain.js"

/** Why a connection is to end: its mode no longer takes it, its Pod terminates, or the process ends. */
export type DrainReason = "mode" | "termination" | "shutdown"

export interface LiveConnection {
  /** The workload's own port. */
  readonly port: number
  /** What its bytes are read as. */
  readonly protocol: "http" | "tcp"
  /** Without an identity proved by us: clear text, or TLS that only the application can read. */
  readonly plaintext: boolean
  readonly peer: SpiffeId | undefined
  /** Of the peer's certificate, as revocations name it. */
  readonly serial: string | undefined
  /** What its peer proved itself with; undefined where it proved nothing, or has gone. */
  readonly chain: PeerChain | undefined
  /** Judges what is in flight by the policies and the mode in force, and ends what they reject. */
  judgeAgain(): void
  /** Its peer was revoked, or the root it proved itself by: ends now, and says so. */
  revoke(): void
  /**
   * Takes no further request: an idle connection closes at once, a busy one after what it is busy with. In a Pod that
   * terminates the application still serves, so an idle connection is first left time for a request, which is answered
   * with the word that it was the last.
   */
  drain(reason: DrainReason): void
  /** Ends now, whatever it does. */
  destroy(): void
}

/** Connections judged again before others get their turn. */
const AT_ONCE = 500

export class Connections {
  /** Bytes that all of them have sent and that no policy has evaluated yet. */
  readonly unjudged: ByteBudget
  readonly #live = new Set<LiveConnection>()
  #draining = false

  constructor({ unjudgedBytes }: Pick<Limits, "unjudgedBytes"> = DEFAULT_LIMITS) {
    this.unjudged = new ByteBudget(unjudgedBytes)
  }

  get size(): number {
    return this.#live.size
  }

  /** Returns what removes it again; to be called when it has closed. */
  add(connection: LiveConnection): () => void {
    this.#live.add(connection)
    return () => {
      this.#live.delete(connection)
    }
  }

  /** After a port has become STRICT. */
  drainPlaintext(port: number): void {
    this.#each(connection => connection.plaintext && connection.port === port, drainByMode)
  }

  /** After a port has become DISABLE: its mode takes no identities. */
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

  /** Whether callers are to be told with every response to go elsewhere. */
  get draining(): boolean {
    return this.#draining
  }

  /** The Pod terminates: callers leave one by one, and nothing they send meanwhile is lost. */
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

  /** After a change. Resolves when all have been judged; there may be many, so others get their turn in between. */
  async judgeAgain(): Promise<void> {
    let judged = 0
    for (const connection of [...this.#live]) {
      connection.judgeAgain()
      if (++judged % AT_ONCE === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }

  // A copy, because those that end leave the set while we walk it.
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
