// SPDX-License-Identifier: Apache-2.0
// Webhook paths that only the API server knows. A kube-apiserver presents a client certificate to webhooks only if an
// operator has configured one, so each registered path begins with a segment that cannot be guessed. It is derived from
// a secret that all replicas share and changes every hour, because API servers show the path to users in some errors.

import { hkdfSync, timingSafeEqual } from "node:crypto"

const PERIOD_MS = 3_600_000
const BYTES = 32
/** The API server requires every segment of a path to be a DNS-1123 subdomain. */
const SEGMENT = /^\/([0-9a-f]{64})(\/.*)$/

/** The path to register for a webhook now. */
export function registeredPath(secret: Buffer, path: string, now: number): string {
  return `/${segment(secret, Math.floor(now / PERIOD_MS)).toString("hex")}${path}`
}

/** The path of the webhook; undefined unless its segment is of the current, the previous or the next hour. */
export function openPath(secrets: readonly Buffer[], path: string, now: number): string | undefined {
  const [, hex = "", rest] = SEGMENT.exec(path) ?? []
  const given = Buffer.from(hex, "hex")
  const period = Math.floor(now / PERIOD_MS)
  const isKnown = secrets.some(secret =>
    // The leader registers the new path some seconds late, and clocks differ.
    [period, period - 1, period + 1].some(
      one => given.length === BYTES && timingSafeEqual(given, segment(secret, one)),
    ),
  )
  return isKnown ? rest : undefined
}

/** The path without its segment, if it has one. */
export function plainPath(path: string): string {
  return SEGMENT.exec(path)?.[2] ?? path
}

function segment(secret: Buffer, period: number): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", `webhook path ${period}`, BYTES))
}
