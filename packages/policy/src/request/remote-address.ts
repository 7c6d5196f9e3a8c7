// SPDX-License-Identifier: Apache-2.0
// The client's address behind trusted proxies. Each proxy appends the address it saw, so the client is as many entries
// from the right as there are trusted proxies. Everything further left was written by the client.

import { type IpAddress, parseIp } from "./ip.js"

export function remoteAddress(
  peer: IpAddress,
  forwardedFor: readonly string[] | undefined,
  numTrustedProxies: number,
): IpAddress {
  if (numTrustedProxies <= 0 || forwardedFor === undefined) return peer
  const entries = forwardedFor.flatMap(line => line.split(","))
  const client = entries[entries.length - numTrustedProxies]
  // Our proxies do not write a list that is too short, or an entry that is not an address, so the TCP peer counts.
  return (client === undefined ? undefined : parseIp(client.trim())) ?? peer
}
