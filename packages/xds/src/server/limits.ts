// SPDX-License-Identifier: Apache-2.0
// What a client may cost the control plane. Anyone who reaches the port chooses what to send; everything that it could
// make us keep or compute is limited here.

export interface StreamLimits {
  /** Resource names a client may subscribe to, or claim to know, of one type. */
  readonly namesPerType: number
  /** The same over all types of a stream. */
  readonly namesPerStream: number
  /** Characters of a name, of a version, of a type URL. */
  readonly nameLength: number
  readonly typesPerStream: number
  /** Milliseconds in which a response should be answered; then the newest state is sent anyway. */
  readonly ackDeadlineMs: number
}

export interface ServerLimits extends StreamLimits {
  readonly connections: number
  readonly streamsPerConnection: number
  /** Of one identity from one address, over all its connections. */
  readonly streamsPerCaller: number
  /** Bytes that the subscriptions of one identity from one address make us keep, over all its streams. */
  readonly subscriptionBytesPerCaller: number
  readonly messageBytes: number
  /** Characters of what a client says of itself, as JSON. */
  readonly metadataLength: number
  /** Characters of a service-account token. */
  readonly tokenLength: number
  /** Requests a stream may send at once, and how many more each second. */
  readonly requestBurst: number
  readonly requestsPerSecond: number
  /** Tokens being verified and certificates being signed at one time, over all callers. */
  readonly pendingProofs: number
  readonly pendingCalls: number
  /** Callers whose tokens wait for their turn, each no longer than `proofMs`. */
  readonly waitingProofs: number
  /** After which a token counts as not verifiable, a call as failed. */
  readonly proofMs: number
  readonly callMs: number
  readonly handshakeMs: number
  /** From the opening of a stream to its first request. */
  readonly firstRequestMs: number
  /** A response that the client's flow control has not allowed by then ends the connection. */
  readonly writeMs: number
  readonly idleConnectionMs: number
  readonly pingEveryMs: number
  readonly pingTimeoutMs: number
  /** How often those connected are asked again whether they may be. */
  readonly recheckMs: number
  /** What is left of streams and connections when a drain has lasted this long is cut off. */
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
