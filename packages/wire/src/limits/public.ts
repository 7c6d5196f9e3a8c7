// SPDX-License-Identifier: Apache-2.0
// What other packages may use to limit what callers take: connections, requests, bytes and rates.

export { addressKey, remoteKey } from "./address-key.js"
export { ByteBudget, type ByteHolder } from "./byte-budget.js"
export { ConcurrencyLimit } from "./concurrency-limit.js"
export type { ConnectionSlot } from "./connection-limiter.js"
export { FairQueue } from "./fair-queue.js"
export { FairShares } from "./fair-shares.js"
export { limitConnections, SMALL_REQUESTS } from "./limit-server.js"
export { Quota } from "./quota.js"
export { SocketLimiter } from "./socket-limiter.js"
export { TokenBucket } from "./token-bucket.js"
export { TokenBuckets } from "./token-buckets.js"
