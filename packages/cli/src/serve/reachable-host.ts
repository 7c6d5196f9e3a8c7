// SPDX-License-Identifier: Apache-2.0
// Where this machine reaches what listens on an address: on that address, and on loopback where it is every address.

import { isIPv6 } from "node:net"

export function reachableHost(listen: string): string {
  if (listen === "0.0.0.0") return "127.0.0.1"
  return isIPv6(listen) && /^[0:]+$/.test(listen) ? "::1" : listen
}

export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host
}
