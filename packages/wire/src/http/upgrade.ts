// SPDX-License-Identifier: Apache-2.0
// The protocols to which a connection may be upgraded (RFC 9110 section 7.8). Nothing after an upgrade is evaluated, so
// only named protocols are allowed: `websocket`, and those in the port's configuration.

import type { Fields } from "./fields.js"
import { hasContent } from "./framing.js"
import type { RequestHead } from "./head.js"

const REJECTED = Symbol("rejected")

/** HTTP/1.1 hops offer these on their own (some clients with every request) and continue without them. */
const IGNORED = /^(?:h2c?|http|tls)(?:$|\/)/i

/**
 * The protocols to ask the application for; undefined if the request is forwarded without an upgrade. `allowed` are the
 * port's protocols, compared case-insensitively, with or without a version.
 */
export function upgradeOf(head: RequestHead, allowed: readonly string[]): string | undefined | Rejected {
  const { upgrade, framing, version } = head
  if (upgrade === undefined || hasContent(framing)) return
  const offered = upgrade
    .split(",")
    .map(protocol => protocol.trim())
    // Requests inside these protocols would bypass the policies, so no configuration can allow them.
    .filter(protocol => protocol !== "" && !IGNORED.test(protocol))
  // Over HTTP/2 an upgrade is never optional: a client that asks for a tunnel accepts no other response as success
  // (RFC 8441 section 5).
  if (offered.length === 0) return version === "h2" ? REJECTED : undefined
  const passing = offered.filter(protocol => isAllowed(protocol.toLowerCase(), allowed))
  return passing.length === 0 ? REJECTED : passing.join(", ")
}

export type Rejected = typeof REJECTED

export function isRejected(upgrade: string | undefined | Rejected): upgrade is Rejected {
  return upgrade === REJECTED
}

/**
 * Whether a 101 switches to an offered protocol (RFC 9110 sections 7.8 and 15.2.2): it must name its protocols, and
 * each must have been offered. Fails closed, because the bytes that follow are not evaluated and the policy allowed
 * only the offered protocols.
 */
export function isSwitchedAsAsked(offered: string | undefined, response: Fields): boolean {
  if (offered === undefined) return false
  const chosen = protocolsIn((response.get("upgrade") ?? []).join(","))
  return chosen.length > 0 && chosen.every(protocol => protocolsIn(offered).includes(protocol))
}

function protocolsIn(list: string): readonly string[] {
  return list
    .toLowerCase()
    .split(",")
    .map(protocol => protocol.trim())
    .filter(protocol => protocol !== "")
}

function isAllowed(protocol: string, allowed: readonly string[]): boolean {
  const name = protocol.split("/", 1)[0]
  return protocol === "websocket" || allowed.some(entry => [protocol, name].includes(entry.toLowerCase()))
}
