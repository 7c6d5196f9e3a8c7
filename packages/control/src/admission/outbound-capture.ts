// SPDX-License-Identifier: Apache-2.0
// Parses which connections of a Pod's programs are redirected to its proxy: all TCP except DNS, or less if ports and
// CIDR blocks are excluded or only some blocks are included. The lists come from flags and annotations, so every value
// is checked.

import { parseCidr } from "@merlon/policy/request"

export interface OutboundCapture {
  /** The proxy's port on loopback. */
  readonly port: number
  /** User of the proxy, whose own connections are not redirected. */
  readonly proxyUid: number
  readonly excludePorts?: readonly number[] | undefined
  readonly excludeCidrs?: readonly CidrBlock[] | undefined
  /** Every destination if undefined. */
  readonly includeCidrs?: readonly CidrBlock[] | undefined
}

export interface CidrBlock {
  readonly family: 4 | 6
  /** A block such as `10.0.0.0/8`, made of digits, dots, colons and one slash. */
  readonly text: string
}

/** DNS over TCP is not redirected: names are resolved before a connection has a destination. */
export const DNS_PORT = 53
/** Every entry is a rule of its own that each new connection has to pass. */
const MAX_ENTRIES = 64

/** Parses a list such as `5432,6379`; returns a string with the error if it is invalid. */
export function parsePortList(text: string): readonly number[] | string {
  const ports = text
    .split(",")
    .map(item => (/^[1-9]\d{0,4}$/.test(item) && Number(item) <= 65_535 ? Number(item) : item))
  const wrong = ports.find(port => typeof port === "string")
  if (wrong !== undefined) return `\`${shown(wrong)}\` is not a port; write a list such as 5432,6379`
  return checked(ports.filter(port => typeof port === "number"))
}

/** Parses a list such as `10.0.0.0/8,fd00::/8,192.0.2.7`; returns a string with the error if it is invalid. */
export function parseCidrList(text: string): readonly CidrBlock[] | string {
  const blocks = text.split(",").map(item => blockOf(item) ?? item)
  const wrong = blocks.find(block => typeof block === "string")
  if (wrong !== undefined) return `\`${shown(wrong)}\` is not a CIDR block; write a list such as 10.0.0.0/8,fd00::/8`
  return checked(blocks.filter(block => typeof block === "object"))
}

function blockOf(text: string): CidrBlock | undefined {
  const cidr = parseCidr(text)
  // A packet to an IPv4-mapped address is an IPv4 packet: such a block would match nothing, so it is an error.
  if (cidr === undefined || (cidr.address.family === 4) === text.includes(":")) return undefined
  return { family: cidr.address.family, text: `${cidr.address.text}/${cidr.bits}` }
}

function checked<T extends number | CidrBlock>(entries: readonly T[]): readonly T[] | string {
  if (entries.length > MAX_ENTRIES) return `more than ${MAX_ENTRIES} entries`
  const seen = new Set<string>()
  for (const entry of entries) {
    const key = typeof entry === "number" ? String(entry) : entry.text
    if (seen.has(key)) return `\`${key}\` is listed twice`
    seen.add(key)
  }
  return entries
}

const shown = (text: string): string => text.slice(0, 100)
