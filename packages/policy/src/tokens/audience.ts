// SPDX-License-Identifier: Apache-2.0
// Audiences are normalised before comparison: `https://a.com/`, `http://a.com` and `a.com` are one audience.

/** Removes a leading `http://` or `https://`, then one trailing slash. */
export function scrubAudience(audience: string): string {
  const bare = audience.startsWith("https://")
    ? audience.slice("https://".length)
    : audience.startsWith("http://")
      ? audience.slice("http://".length)
      : audience
  return bare.endsWith("/") ? bare.slice(0, -1) : bare
}

/** The audiences that a rule allows; undefined if it allows any. */
export function allowedAudiences(configured: readonly string[]): ReadonlySet<string> | undefined {
  if (configured.length === 0) return undefined
  const scrubbed = new Set(configured.map(scrubAudience))
  // Fail closed: `https://` alone scrubs to the empty text, which would then match every token with the audience `/`.
  scrubbed.delete("")
  return scrubbed
}
