// SPDX-License-Identifier: Apache-2.0
// Parses `host:port`: a name, an IPv4 address, or an IPv6 address in brackets.

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

const FORM = /^(?:\[([0-9a-fA-F:.]+(?:%[^\]\s]+)?)\]|([^:\s[\]]+)):(\d{1,5})$/

/** Throws if it is invalid. */
export function readAddress(address: string): HostAndPort {
  const [, ipv6, name, digits] = FORM.exec(address) ?? []
  const host = ipv6 ?? name
  const port = Number(digits)
  if (host === undefined || port < 1 || port > 65_535) {
    throw new Error(`the address of the control plane must have the form HOST:PORT, and is \`${address}\``)
  }
  return { host, port }
}
