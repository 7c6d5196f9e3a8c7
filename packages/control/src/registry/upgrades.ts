// SPDX-License-Identifier: Apache-2.0
// Protocols besides `websocket` to which connections of a Pod's ports may be upgraded. Set by an annotation such as
// `8080=spdy/3.1,custom; 9090=custom`. Nothing after an upgrade is judged, so an unreadable annotation allows nothing.

import type { MeshNames } from "@merlon/policy/mesh"
import type { ApplicationPort } from "./application-ports.js"
import { portOf } from "./foreign.js"

export function upgradesAnnotation({ domain }: MeshNames): string {
  return `inbound.${domain}/upgrades`
}

/** RFC 9110 section 7.8: a token, optionally followed by a slash and another token. */
const PROTOCOL = /^[-!#$%&'*+.^_`|~0-9A-Za-z]{1,64}(?:\/[-!#$%&'*+.^_`|~0-9A-Za-z]{1,64})?$/
/** Requests inside these protocols would bypass the policies, so xserver never upgrades to them. */
const NEVER = /^(?:h2c?|http|tls)(?:$|\/)/i
const MOST_PROTOCOLS = 32

/** The ports with the protocols that the text allows; a string with the reason if the text is invalid. */
export function allowingUpgrades(ports: readonly ApplicationPort[], text: string): readonly ApplicationPort[] | string {
  const allowed = new Map<number, readonly string[]>()
  for (const entry of text.split(";")) {
    const [, number, list = ""] = /^\s*(\d{1,5})\s*=(.*)$/s.exec(entry) ?? []
    const port = portOf(Number(number))
    if (port === undefined) return `\`${entry.trim().slice(0, 80)}\` is not a port with its protocols`
    if (!ports.some(declared => declared.port === port)) return `no container declares port ${port}`
    if (allowed.has(port)) return `port ${port} is listed twice`
    const protocols = list.split(",").map(protocol => protocol.trim())
    if (protocols.length > MOST_PROTOCOLS) return `port ${port} has more than ${MOST_PROTOCOLS} protocols`
    const [wrong] = protocols.filter(protocol => !PROTOCOL.test(protocol))
    if (wrong !== undefined) return `\`${wrong.slice(0, 80)}\` is not the name of a protocol`
    const [never] = protocols.filter(protocol => NEVER.test(protocol))
    if (never !== undefined)
      return `connections are never switched to \`${never}\`, because requests inside it would bypass the policies`
    allowed.set(port, protocols)
  }
  return ports.map(port => ({ ...port, upgrades: allowed.get(port.port) ?? [] }))
}
