// SPDX-License-Identifier: Apache-2.0
// Addresses that have a different meaning on each machine, or belong to no particular host. If one party names such an
// address and another calls it, the caller would reach itself, bypass its own proxy, or reach a local-only service of
// its machine.

import { type Cidr, cidrCovers, type IpAddress, parseCidr } from "./ip.js"

// Unspecified, loopback, link-local and multicast, as Kubernetes rejects them in Endpoints.
const BLOCKS: readonly Cidr[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255",
  "::",
  "::1",
  "fe80::/10",
  "ff00::/8",
].flatMap(text => parseCidr(text) ?? [])

/** Whether the host that the address reaches depends on the caller. */
export function isOwnAddress(address: IpAddress): boolean {
  const one = { address, bits: address.family === 4 ? 32 : 128 }
  return BLOCKS.some(block => cidrCovers(block, one))
}
