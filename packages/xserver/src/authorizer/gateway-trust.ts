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

/** A pair of an element, with what ends it. A quote elsewhere could be a caller's, and would end in what the gateway wrote. */
const PAIR = /[ \t]*([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"[ \t]*|([^",;]*))([,;]|$)/y

/** The caller's identity in the last element of `x-forwarded-client-cert`. `malformed` where it cannot be read in one way. */
export function lastClientIdentity(lines: readonly string[] | undefined): SpiffeId | undefined | "malformed" {
  const text = lines?.join(",").trim()
  if (text === undefined || text === "") return undefined
  let uris: string[] = []
  PAIR.lastIndex = 0
  for (let end: string | undefined = ","; end !== ""; ) {
    if (end === ",") uris = []
    const found = PAIR.exec(text)
    if (found === null) return "malformed"
    const [, key = "", quoted, plain = ""] = found
    if (key.toLowerCase() === "uri") uris.push(quoted ?? plain.trim())
    end = found[4]
  }
  if (uris.length !== 1) return uris.length === 0 ? undefined : "malformed"
  return parseSpiffeId(uris[0] ?? "") ?? "malformed"
}
