// SPDX-License-Identifier: Apache-2.0
// The cache lifetime of fetched keys: as the issuer's `Cache-Control` says (RFC 9111 section 5.2.2), within limits. The
// minimum is a minute, so that an issuer cannot make us fetch all the time; the maximum is a day, so that a withdrawn
// key does not stay longer.

const DEFAULT_LIFETIME = 20 * 60_000
const SHORTEST_LIFETIME = 60_000
const LONGEST_LIFETIME = 24 * 60 * 60_000

/** Returns milliseconds. */
export function cacheLifetime(cacheControl: string | undefined): number {
  const directives = (cacheControl ?? "")
    .toLowerCase()
    .split(",", 32)
    .map(directive => directive.trim())
  if (directives.includes("no-store") || directives.includes("no-cache")) return DEFAULT_LIFETIME
  for (const directive of directives) {
    const seconds = /^max-age="?(\d{1,15})"?$/.exec(directive)?.[1]
    if (seconds !== undefined) return Math.min(LONGEST_LIFETIME, Math.max(SHORTEST_LIFETIME, Number(seconds) * 1_000))
  }
  return DEFAULT_LIFETIME
}
