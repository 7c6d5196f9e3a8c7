// SPDX-License-Identifier: Apache-2.0
// Which gateways an authorizer answers, and which of a gateway's statements it trusts. A gateway forwards headers that
// its callers wrote, so each statement is ignored until an operator declares that the gateway makes it.

import { CidrIndex, type IpAddress, parseCidr, parseIp, parseSpiffeId, type SpiffeId } from "@merlon/policy/request"

/** The headers in which gateways of these kinds say what they were asked for. */
export const FORWARD_AUTH = {
  traefik: {
    method: "x-forwarded-method",
    uri: "x-forwarded-uri",
    host: "x-forwarded-host",
    scheme: "x-forwarded-proto",
  },
  caddy: {
    method: "x-forwarded-method",
    uri: "x-forwarded-uri",
    host: "x-forwarded-host",
    scheme: "x-forwarded-proto",
  },
  nginx: { method: "x-original-method", uri: "x-original-uri", host: "x-original-host", scheme: "x-original-proto" },
} as const

export type ForwardAuthKind = keyof typeof FORWARD_AUTH

/** The attributes in Envoy's gRPC question, the subject of an AuthZEN question, or the last entry of a header. */
export type TrustedStatement = "attribute" | "subject" | { readonly header: string }

/** Plain data, because several processes may share the work. */
export interface GatewayTrust {
  /** Addresses, blocks of addresses, or principals (`cluster.local/ns/edge/sa/gateway`) of the gateways that may ask. */
  readonly gateways: readonly string[]
  /** Who is believed to be the gateway's caller: the last entry of a header is in the format of XFCC. Else the caller has no identity. */
  readonly peer?: TrustedStatement | undefined
  /** Where the address of the gateway's caller is. Else it is the gateway's own. */
  readonly address?: TrustedStatement | undefined
  /** Which kind of gateway asks by forward authentication; questions of that kind are denied where absent. */
  readonly forwardAuth?: ForwardAuthKind | undefined
  /**
   * Whether gateways may ask by AuthZEN. Its denials have status 200, which a gateway that asks by another protocol
   * would take for an allowance, so it is off unless it is switched on.
   */
  readonly authzen?: boolean | undefined
}

export class Gateways {
  readonly #blocks = new CidrIndex<true>()
  readonly #principals = new Set<string>()

  /** Throws at what is neither. */
  constructor(gateways: readonly string[]) {
    for (const gateway of gateways) {
      const block = parseCidr(gateway)
      if (block !== undefined) this.#blocks.entry(block, () => true)
      else if (parseSpiffeId(`spiffe://${gateway}`) !== undefined) this.#principals.add(gateway)
      else throw new RangeError(`\`${gateway}\` is neither an address, nor a block of addresses, nor a principal`)
    }
  }

  has(peer: SpiffeId | undefined, address: IpAddress): boolean {
    if (peer !== undefined && this.#principals.has(peer.principal)) return true
    return this.#blocks.some(address, () => true)
  }
}

/** The last entry of a list of addresses: the one that the gateway itself appended. */
export function lastAddress(lines: readonly string[] | undefined): IpAddress | undefined {
  const last = lines?.join(",").split(",").at(-1)?.trim()
  return last === undefined ? undefined : parseIp(last)
}

/** The caller's identity in the last element of `x-forwarded-client-cert`. `malformed` where it cannot be read in one way. */
export function lastClientIdentity(lines: readonly string[] | undefined): SpiffeId | undefined | "malformed" {
  if (lines === undefined) return undefined
  const elements = splitOutsideQuotes(lines.join(","), ",")
  const last = elements?.at(-1)
  const pairs = last === undefined ? undefined : splitOutsideQuotes(last, ";")
  if (pairs === undefined) return "malformed"
  const uris = pairs
    .map(
      pair =>
        [pair.slice(0, pair.indexOf("=")).trim().toLowerCase(), pair.slice(pair.indexOf("=") + 1).trim()] as const,
    )
    .filter(([key]) => key === "uri")
    .map(([, value]) => (value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value))
  if (uris.length !== 1) return uris.length === 0 ? undefined : "malformed"
  return parseSpiffeId(uris[0] ?? "") ?? "malformed"
}

/** Undefined where a quote is not closed. */
function splitOutsideQuotes(text: string, separator: string): readonly string[] | undefined {
  const parts: string[] = []
  let quoted = false
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (quoted && character === "\\") index++
    else if (character === '"') quoted = !quoted
    else if (!quoted && character === separator) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  if (quoted) return undefined
  return [...parts, text.slice(start)]
}
