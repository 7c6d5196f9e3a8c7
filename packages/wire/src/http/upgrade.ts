// SPDX-License-Identifier: Apache-2.0
// The protocols to which a connection may be upgraded (RFC 9110 section 7.8). Nothing after an upgrade is judged, so only
// named ones pass: `websocket`, and those of the port's configuration.

import type { Fields } from "./fields.js"
import { hasContent } from "./framing.js"
import type { RequestHead } from "./head.js"

const REJECTED = Symbol("rejected")

/** Hops that speak HTTP/1.1 offer these by themselves (some clients with every request) and go on without. */
const IGNORED = /^(?:h2c?|http|tls)(?:$|\/)/i

/**
 * The protocols the application may be asked to switch to; undefined where the request goes on as it is. `allowed` are
 * those of the port, compared without regard to case, with or without their version.
 */
export function upgradeOf(head: RequestHead, allowed: readonly string[]): string | undefined | Rejected {
  const { upgrade, framing, version } = head
  if (upgrade === undefined || hasContent(framing)) return
  const offered = upgrade
    .split(",")
    .map(protocol => protocol.trim())
    // Requests inside these protocols would bypass the policies, so they are never allowed, whatever is configured.
    .filter(protocol => protocol !== "" && !IGNORED.test(protocol))
  // Over HTTP/2 an upgrade is never optional: a client that asks for a tunnel takes no other response for a success
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
 * Whether a 101 switches to what was asked for (RFC 9110 sections 7.8 and 15.2.2): it names its protocols, and each of them
 * was offered. Fails closed, because the bytes behind it are not judged and the policy allowed only what was offered.
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
