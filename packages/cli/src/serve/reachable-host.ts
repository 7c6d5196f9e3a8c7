// SPDX-License-Identifier: Apache-2.0
// The address at which this machine reaches a listener: its own address, or loopback if it listens on every address.

import { isIPv6 } from "node:net"

export function reachableHost(listen: string): string {
  if (listen === "0.0.0.0") return "127.0.0.1"
  return isIPv6(listen) && /^[0:]+$/.test(listen) ? "::1" : listen
}

export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host
}
