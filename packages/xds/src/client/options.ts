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
  /** 0 if the control plane sends none. */
  readonly revision: number
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
}

export interface Subscription {
  readonly typeUrl: string
  /** Read for every connection and by `resubscribe`. */
  readonly names: () => "*" | readonly string[]
  /** Versions held, by name. Read for every connection: the control plane does not send these resources again. */
  readonly known: () => ReadonlyMap<string, string>
  /**
   * Resolves when the update is in effect. Rejects if it is invalid; the reason is sent to the control plane. Updates
   * of one type are applied one after the other.
   */
  apply(update: Update): Promise<void>
}

export interface ClientLimits {
  readonly connectMs: number
  /** From opening a stream to the first response for every subscription. */
  readonly answerMs: number
  /** For a unary call. */
  readonly callMs: number
  readonly pingEveryMs: number
  readonly pingTimeoutMs: number
  /** Delays before the first and the second retry, and the maximum delay. */
  readonly firstRetryMs: number
  readonly retryMs: number
  readonly longestRetryMs: number
  /** A stream that lasted this long resets the delays. */
  readonly stableAfterMs: number
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
  stableAfterMs: 5_000,
  messageBytes: 64 * 1024 * 1024,
}

export interface MeshClientOptions {
  /** `host:port`. */
  readonly address: string
  /** The name that the control plane's certificate must carry. */
  readonly serverName: string
  /** PEM. Read for every connection and call, like `proof`. */
  readonly trustBundle: () => string
  readonly proof: () => Proof
  readonly node: { readonly id: string; readonly metadata: () => { readonly [key: string]: unknown } }
  readonly subscriptions: readonly Subscription[]
  /** The observations to report. */
  readonly observations?: ObservationSource
  /** Passed on to the next client; a client itself keeps its session across connections. */
  readonly session?: LastSession
  readonly log?: Log
  /** Returns numbers from 0 to below 1, like `Math.random`. */
  readonly random?: () => number
  /** Returns milliseconds, like `Date.now`. */
  readonly now?: () => number
  readonly limits?: Partial<ClientLimits>
}
