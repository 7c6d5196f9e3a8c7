// SPDX-License-Identifier: Apache-2.0
// Limits on what a client may cost the control plane. Anyone who reaches the port chooses what to send, so everything
// that a client could make us keep or compute is limited here.

export interface StreamLimits {
  /** Resource names of one type that a client may subscribe to, or claim to hold. */
  readonly namesPerType: number
  /** The same over all types of a stream. */
  readonly namesPerStream: number
  /** Length of a name, a version or a type URL, in characters. */
  readonly nameLength: number
  readonly typesPerStream: number
  /** Milliseconds within which a response should be acknowledged; then the newest state is sent anyway. */
  readonly ackDeadlineMs: number
}

export interface ServerLimits extends StreamLimits {
  readonly connections: number
  readonly streamsPerConnection: number
  /** Concurrent streams of one identity from one address, over all its connections. */
  readonly streamsPerCaller: number
  /** Bytes that the subscriptions of one identity from one address make us keep, over all its streams. */
  readonly subscriptionBytesPerCaller: number
  readonly messageBytes: number
  /** Length of the node's metadata as JSON, in characters. */
  readonly metadataLength: number
  /** Length of a service-account token, in characters. */
  readonly tokenLength: number
  /** Requests that a stream may send at once, and how many more each second. */
  readonly requestBurst: number
  readonly requestsPerSecond: number
  /** Concurrent verifications of tokens, and concurrent unary calls, over all callers. */
  readonly pendingProofs: number
  readonly pendingCalls: number
  /** Callers whose tokens wait for verification, each no longer than `proofMs`. */
  readonly waitingProofs: number
  /** Time after which a token counts as not verifiable, and a call as failed. */
  readonly proofMs: number
  readonly callMs: number
  readonly handshakeMs: number
  /** From opening a stream to its first request. */
  readonly firstRequestMs: number
  /** A response that flow control does not let us send within this time ends the connection. */
  readonly writeMs: number
  readonly idleConnectionMs: number
  readonly pingEveryMs: number
  readonly pingTimeoutMs: number
  /** How often connected callers are checked again. */
  readonly recheckMs: number
  /** Streams and connections that remain after draining for this long are cut off. */
  readonly drainMs: number
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  namesPerType: 10_000,
  namesPerStream: 20_000,
  nameLength: 1_024,
  typesPerStream: 32,
  ackDeadlineMs: 15_000,
  connections: 20_000,
  streamsPerConnection: 16,
  streamsPerCaller: 128,
  subscriptionBytesPerCaller: 32 * 1024 * 1024,
  messageBytes: 4 * 1024 * 1024,
  metadataLength: 64 * 1024,
  tokenLength: 16 * 1024,
  requestBurst: 200,
  requestsPerSecond: 50,
  pendingProofs: 64,
  waitingProofs: 20_000,
  pendingCalls: 256,
  proofMs: 10_000,
  callMs: 15_000,
  handshakeMs: 10_000,
  firstRequestMs: 15_000,
  writeMs: 30_000,
  idleConnectionMs: 60_000,
  pingEveryMs: 20_000,
  pingTimeoutMs: 10_000,
  recheckMs: 30_000,
  drainMs: 5_000,
}
