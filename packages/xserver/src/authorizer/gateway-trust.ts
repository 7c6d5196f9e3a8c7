// SPDX-License-Identifier: Apache-2.0
// Which gateways may send questions to an authorizer, and which of their statements it trusts. A gateway forwards
// headers that its callers wrote, so each statement is ignored until an operator declares that the gateway sets it.

import { CidrIndex, type IpAddress, parseCidr, parseIp, parseSpiffeId, type SpiffeId } from "@merlon/policy/request"

/** The headers in which gateways of these kinds describe the original request. */
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

/**
 * Where a gateway states something: in the attributes of Envoy's gRPC question, in the subject of an AuthZEN question,
 * or in the last entry of a header.
 */
export type TrustedStatement = "attribute" | "subject" | { readonly header: string }

/** Plain data, so that it can be passed to workers. */
export interface GatewayTrust {
  /**
   * Addresses, CIDR blocks, or principals (`cluster.local/ns/edge/sa/gateway`) of the gateways that may send questions.
   */
  readonly gateways: readonly string[]
  /**
   * Where the identity of the gateway's caller is; the last entry of a header is in XFCC format. If absent, the caller
   * has no identity.
   */
  readonly peer?: TrustedStatement | undefined
  /** Where the address of the gateway's caller is. If absent, the gateway's own address is used. */
  readonly address?: TrustedStatement | undefined
  /** The kind of gateway that uses forward authentication. If absent, such questions are denied. */
  readonly forwardAuth?: ForwardAuthKind | undefined
  /**
   * Whether gateways may use AuthZEN. Its denials have status 200, which a gateway with another protocol would read as
   * an allowance, so AuthZEN is off by default.
   */
  readonly authzen?: boolean | undefined
}

export class Gateways {
  readonly #blocks = new CidrIndex<true>()
  readonly #principals = new Set<string>()

  /** Throws on an entry that is none of these. */
  constructor(gateways: readonly string[]) {
    for (const gateway of gateways) {
      const block = parseCidr(gateway)
      if (block !== undefined) this.#blocks.entry(block, () => true)
      else if (parseSpiffeId(`spiffe://${gateway}`) !== undefined) this.#principals.add(gateway)
      else throw new RangeError(`\`${gateway}\` is not an address, a CIDR block or a principal`)
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

/**
 * A key and value of an element, with the separator that follows. A quote anywhere else could be a caller's, and would
 * be closed by text that the gateway wrote.
 */
const PAIR = /[ \t]*([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"[ \t]*|([^",;]*))([,;]|$)/y

/** The caller's identity in the last element of `x-forwarded-client-cert`; `malformed` if it is ambiguous. */
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
