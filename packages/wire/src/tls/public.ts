// SPDX-License-Identifier: Apache-2.0
// What other packages use of TLS: the minimum versions and ciphers.

export { TLS_FLOOR, TLS_INTERNAL } from "./floor.js"
