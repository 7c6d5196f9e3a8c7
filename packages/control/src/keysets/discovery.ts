// SPDX-License-Identifier: Apache-2.0
// Finds where an issuer publishes its keys: OpenID Connect Discovery 1.0, section 4. The document must name the
// requested issuer (section 4.3); otherwise one issuer could impersonate another.

import { oneLine } from "../observe/one-line.js"
import { type GuardedGetOptions, guardedGet, readUrl } from "./guarded-get.js"

export type Discovered =
  | { readonly ok: true; readonly jwksUri: string }
  | { readonly ok: false; readonly error: string }

export async function discover(issuer: string, signal: AbortSignal, options: GuardedGetOptions): Promise<Discovered> {
  const base = readUrl(issuer)
  if (typeof base === "string") {
    return failure(
      `${base}; or set \`jwksUri\` or \`jwks\`, because Merlon cannot discover the keys of an issuer that is not a URL`,
    )
  }
  const location = `${issuer.endsWith("/") ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`
  const answer = await guardedGet(location, signal, options)
  if (!answer.ok) return failure(`${answer.error} (while discovering the issuer's \`jwks_uri\`)`)
  const document = parsed(answer.text)
  if (document === undefined) return failure(`${oneLine(location)} is not a discovery document: not a JSON object`)
  if (document.issuer !== issuer) {
    const named = typeof document.issuer === "string" ? `\`${oneLine(document.issuer)}\`` : "none"
    return failure(`${oneLine(location)} names the issuer ${named}, not \`${oneLine(issuer)}\``)
  }
  if (typeof document.jwks_uri !== "string") return failure(`${oneLine(location)} has no \`jwks_uri\``)
  const jwksUri = readUrl(document.jwks_uri)
  return typeof jwksUri === "string"
    ? failure(`${oneLine(location)} has a \`jwks_uri\` that is not usable: ${jwksUri}`)
    : { ok: true, jwksUri: document.jwks_uri }
}

function parsed(text: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    return value as { readonly [name: string]: unknown } // an object that is not a list
  } catch {
    return undefined
  }
}

function failure(error: string): Discovered {
  return { ok: false, error }
}
