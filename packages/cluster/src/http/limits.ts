// SPDX-License-Identifier: Apache-2.0
// Limits on what users take at once: requests, request bodies, responses, watches and connections. `…PerUser` is one
// user's share; `…Kept` is reserved for the system. Without shares, one client, malicious or broken, could lock out all
// others.

export interface Limits {
  readonly readsInFlight: number
  readonly readsPerUser: number
  readonly readsKept: number
  readonly writesInFlight: number
  readonly writesPerUser: number
  readonly writesKept: number
  /** Bytes of bodies that are arriving or being processed. */
  readonly bodyBytes: number
  readonly bodyBytesPerUser: number
  readonly bodyBytesKept: number
  /** Unread bytes of responses and watch events. */
  readonly backlogBytes: number
  readonly backlogBytesPerUser: number
  readonly backlogBytesPerWatch: number
  readonly watchesPerUser: number
  /** Milliseconds for headers and for the whole request to arrive. */
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Milliseconds without progress after which a response that the client does not read is dropped. */
  readonly responseTimeout: number
  readonly maxHeaderSize: number
  readonly maxConnections: number
}

const MiB = 1024 * 1024

export const defaultLimits: Limits = {
  readsInFlight: 400,
  readsPerUser: 100,
  readsKept: 40,
  writesInFlight: 200,
  writesPerUser: 50,
  writesKept: 20,
  bodyBytes: 128 * MiB,
  bodyBytesPerUser: 32 * MiB,
  bodyBytesKept: 16 * MiB,
  backlogBytes: 256 * MiB,
  backlogBytesPerUser: 64 * MiB,
  backlogBytesPerWatch: 8 * MiB,
  watchesPerUser: 2000,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  responseTimeout: 60_000,
  maxHeaderSize: 64 * 1024,
  maxConnections: 10_000,
}
