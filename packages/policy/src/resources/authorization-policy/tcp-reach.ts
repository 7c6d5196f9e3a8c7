// SPDX-License-Identifier: Apache-2.0
// On a TCP connection the HTTP parts of a DENY rule count as matched, so a rule with only HTTP parts denies every TCP
// connection in its scope. That is safe but rarely intended, hence a warning.

import type { Field } from "../field.js"

const HTTP_SOURCES = new Set(["requestPrincipals", "notRequestPrincipals", "trustDomains", "notTrustDomains"])

export function checkTcpReach(rule: Field): void {
  const from = rule.field("from").items
  const to = rule.field("to").items
  const when = rule.field("when").items
  // One alternative without a port is enough to match every TCP port.
  const namesPort = to.every(item => has(item.field("operation"), name => name === "ports" || name === "notPorts"))
  const namesPeer = from.some(item => has(item.field("source"), name => !HTTP_SOURCES.has(name)))
  const onlyHttpConditions = when.length > 0 && when.every(item => isHttpKey(item.field("key").text ?? ""))
  const wide =
    to.length > 0
      ? !namesPort
      : from.length > 0
        ? !namesPeer && (when.length === 0 || onlyHttpConditions)
        : onlyHttpConditions
  if (!wide) return
  rule.warn(
    "denies-tcp",
    "configured AuthorizationPolicy will deny all traffic to TCP ports under its scope due to the use of only HTTP attributes in a DENY rule",
    "it is recommended to explicitly specify the port: add `to: [{operation: {ports: [...]}}]`",
  )
}

function has(content: Field, wanted: (name: string) => boolean): boolean {
  return content.entries.some(([name, list]) => wanted(name) && list.items.length > 0)
}

function isHttpKey(key: string): boolean {
  return key.startsWith("request.")
}
