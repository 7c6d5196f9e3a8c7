// SPDX-License-Identifier: Apache-2.0
// Options and callbacks of the control plane's client.

import type { ObservationSource } from "../observation.js"
import type { Log } from "../runtime/log.js"
import type { VersionedResource } from "../server/source.js"
import type { LastSession } from "./last-session.js"

export interface Proof {
  readonly token?: string
  /** PEM, leaf first. */
  readonly certificate?: { readonly chain: string; readonly privateKey: string }
}

export interface Update {
  /** 0 where the control plane names none. */
  readonly revision: number
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
}

export interface Subscription {
  readonly typeUrl: string
  /** Read at every connect and by `resubscribe`. */
  readonly names: () => "*" | readonly string[]
  /** Versions held by name, read at every connect: what the control plane knows to be held is not sent again. */
  readonly known: () => ReadonlyMap<string, string>
  /**
   * Resolves when the update is in force, rejects if it is invalid; the reason goes to the control plane. Updates of
   * one type are applied one after the other.
   */
  apply(update: Update): Promise<void>
}

export interface ClientLimits {
  readonly connectMs: number
  /** From a stream's opening to the first answer for every subscription. */
  readonly answerMs: number
  /** For a call beside the stream. */
  readonly callMs: number
  readonly pingEveryMs: number
  readonly pingTimeoutMs: number
  /** Of the first retry, of the next one after it, and of the longest pause. */
  readonly firstRetryMs: number
  readonly retryMs: number
  readonly longestRetryMs: number
  /** A stream that lasted this long makes the pauses short again. */
  readonly livedMs: number
  readonly messageBytes: number
}

export const DEFAULT_CLIENT_LIMITS: ClientLimits = {
  connectMs: 10_000,
  answerMs: 20_000,
  callMs: 15_000,
  pingEveryMs: 20_000,
  pingTimeoutMs: 10_000,
  firstRetryMs: 200,
  retryMs: 1_000,
  longestRetryMs: 30_000,
  livedMs: 5_000,
  messageBytes: 64 * 1024 * 1024,
}

export interface MeshClientOptions {
  /** `host:port`. */
  readonly address: string
  /** The name that the control plane's certificate must carry. */
  readonly serverName: string
  /** PEM. Read for every connection and call, as is `proof`. */
  readonly trustBundle: () => string
  readonly proof: () => Proof
  readonly node: { readonly id: string; readonly metadata: () => { readonly [key: string]: unknown } }
  readonly subscriptions: readonly Subscription[]
  /** What there is to tell of what is seen. */
  readonly observations?: ObservationSource
  /** For the next client; a client keeps its own session across its connections. */
  readonly session?: LastSession
  readonly log?: Log
  /** From 0 to below 1. */
  readonly random?: () => number
  /** Milliseconds. */
  readonly now?: () => number
  readonly limits?: Partial<ClientLimits>
}
