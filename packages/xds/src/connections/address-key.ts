// SPDX-License-Identifier: Apache-2.0
// The address that limits count by. A host with one IPv6 address usually has its whole /64 subnet (RFC 4291 section 2.5.4),
// so the first 64 bits count as one address. IPv4 written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address.

import { type IpAddress, parseIp } from "@merlon/policy"

export function addressKey({ family, words }: IpAddress): string {
  return family === 4 ? `4 ${words[3]}` : `6 ${words[0]} ${words[1]}`
}

/** Of a socket's `remoteAddress`; undefined once the peer has gone. */
export function remoteKey(remoteAddress: string | undefined): string | undefined {
  // RFC 4007 section 11: link-local addresses carry the interface.
  const address = parseIp(remoteAddress?.split("%")[0] ?? "")
  return address && addressKey(address)
}
