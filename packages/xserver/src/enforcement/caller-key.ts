// SPDX-License-Identifier: Apache-2.0
// Whom shares are counted for: the identity that was proved, else the address. Who has one address of IPv6 has all of its
// subnet (RFC 4291 section 2.5.4), so there it is the first 64 bits.

import type { Connection, IpAddress } from "@merlon/policy"

export function callerKey({ peer, sourceIp }: Pick<Connection, "peer" | "sourceIp">): string {
  return peer === undefined ? addressKey(sourceIp) : peer.uri
}

export function addressKey({ family, words }: IpAddress): string {
  return family === 4 ? `4 ${words[3]}` : `6 ${words[0]} ${words[1]}`
}
