// SPDX-License-Identifier: Apache-2.0
// What other packages use of the connection limits.

export { addressKey } from "./address-key.js"
export { CallerShares } from "./caller-shares.js"
export { limitConnections, SMALL_REQUESTS } from "./limit-server.js"
export { isOwnUser } from "./peer-uid.js"
export { SocketLimiter } from "./socket-limiter.js"
