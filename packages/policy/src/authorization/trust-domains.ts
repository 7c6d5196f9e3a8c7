// SPDX-License-Identifier: Apache-2.0
// Trust domain aliases. A mesh that was renamed or merged lists its other trust domains. A principal that is written
// for one of them means the same workload under each of them.

/** The trust domain of policies that are not written for a certain mesh; it always means the local one. */
const LOCAL = "cluster.local"

/** All principals that a written one stands for. `domains` is the mesh's own trust domain, followed by its aliases. */
export function expandPrincipal(value: string, domains: readonly string[]): readonly string[] {
  const parts = value.split("/")
  const [domain, ...rest] = parts
  if (parts.length !== 5 || domain === undefined || domain === "*") return [value]
  if (domain !== LOCAL && !domains.some(known => sameDomain(domain, known))) return [value]
  const expanded = domains.map(known =>
    // A pattern that covers the domain matches already; substituting would only narrow it.
    domain.startsWith("*") && sameDomain(domain, known) ? value : [known, ...rest].join("/"),
  )
  return [...new Set(expanded)]
}

export function expandTrustDomain(value: string, domains: readonly string[]): readonly string[] {
  return domains.includes(value) ? domains : [value]
}

function sameDomain(written: string, known: string): boolean {
  return matchesEnd(written, known) || matchesEnd(known, written)
}

function matchesEnd(pattern: string, text: string): boolean {
  if (pattern.startsWith("*")) return text.endsWith(pattern.slice(1))
  if (pattern.endsWith("*")) return text.startsWith(pattern.slice(0, -1))
  return pattern === text
}
