// SPDX-License-Identifier: Apache-2.0
// What other packages use to limit clients. `ConnectionLimiter`: open connections. `ConcurrencyLimit`: concurrent work,
// with a queue. `TokenBucket`: a rate. `Quota`: an amount that owners share. `ByteBudget`: bytes held before a
// decision. `FairPool`: which owner gives something up when there is too much. `FairQueue`: waiting owners take turns.

export { addressKey, remoteKey } from "./address-key.js"
export { ByteBudget, type ByteHolder } from "./byte-budget.js"
export { ConcurrencyLimit } from "./concurrency-limit.js"
export { ConnectionLimiter, type ConnectionSlot } from "./connection-limiter.js"
export { FairPool, type Holdings } from "./fair-pool.js"
export { FairQueue } from "./fair-queue.js"
export { limitConnections, SMALL_REQUESTS } from "./limit-server.js"
export { Quota } from "./quota.js"
export { TokenBucket, TokenBuckets } from "./token-bucket.js"
