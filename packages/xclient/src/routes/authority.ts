// SPDX-License-Identifier: Apache-2.0
// Parses `host:port` as users and programs write it, and formats it for the control plane.

import { isIP, isIPv6 } from "node:net"

export interface Authority {
  /** Lower case, without brackets and without a final dot. */
  readonly host: string
  readonly port: number | undefined
}

const HOST = /^(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/
const PORT = /^[1-9]\d{0,4}$/

/** Undefined if the text is not an authority. */
export function parseAuthority(text: string): Authority | undefined {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([^:[\]]{1,254}))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed?.toLowerCase() ?? plain?.toLowerCase().replace(/\.$/, "")
  if (host === undefined || !(bracketed === undefined ? HOST.test(host) : isIPv6(host))) return undefined
  if (port === undefined) return { host, port: undefined }
  if (!PORT.test(port) || Number(port) > 65_535) return undefined
  return { host, port: Number(port) }
}

export function authorityOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** The address in `address:port`; undefined for a name. */
export function addressIn(authority: string): string | undefined {
  const { host = "" } = parseAuthority(authority) ?? {}
  return isIP(host) === 0 ? undefined : host
}
