// SPDX-License-Identifier: Apache-2.0
// What other packages may use of TLS: the lowest versions and ciphers that we accept.

export { TLS_FLOOR, TLS_OWN } from "./floor.js"
