// SPDX-License-Identifier: Apache-2.0
// What other packages may use of requests: their attributes, addresses, identities and protected headers.

export type { Attributes, Claim, HeaderLines, HttpAttributes, VerifiedToken } from "./attributes.js"
export { byteText, readableText, withoutOuterBlanks } from "./byte-text.js"
export { CidrIndex } from "./cidr-index.js"
export { type Cidr, type IpAddress, parseCidr, parseIp } from "./ip.js"
export { normalizePath, type Target } from "./path.js"
export { foldedName, nominatedHeaders, PROXY_HEADERS, type ProtectedHeaders } from "./protected-headers.js"
export { remoteAddress } from "./remote-address.js"
export { parseSpiffeId, type SpiffeId, spiffeId } from "./spiffe-id.js"
