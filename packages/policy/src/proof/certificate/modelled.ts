// SPDX-License-Identifier: Apache-2.0
// The limits of certificates. The checker has a simpler model of requests than the proofs: the caller chooses all
// headers, and no provider is asked. If that model is not enough, no certificate is written.

import type { MeshConfig } from "../../mesh/config.js"
import { foldedName } from "../../request/protected-headers.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../resources/document.js"
import type { JwtRule } from "../../resources/request-authentication/definition.js"
import { isShadow } from "../../selection/shadow.js"
import { parseKeySet } from "../../tokens/key-set.js"
import { headersNamed, headersNamedBy } from "../seen-headers.js"
import { proofTokenRules } from "../token-rules.js"

const OF_PREFLIGHT = ["origin", "access-control-request-method", "cookie"]

/** Why no certificate can be written; undefined if one can. */
export function notModelled(
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
  asked: readonly Rule[] = [],
): string | undefined {
  if (mesh.dialect !== undefined) return "certificates are about policies of Merlon, not about those of other meshes"
  const enforced = documents.filter(document => document.kind === "MeshService" || !isShadow(document, mesh))
  const custom = enforced.find(
    ({ kind, spec }) => kind === "AuthorizationPolicy" && "action" in spec && spec.action === "CUSTOM",
  )
  if (custom !== undefined) return `certificates do not model providers, and \`${custom.metadata.name}\` asks one`
  const unusable = enforced.find(
    ({ kind, spec }) => kind === "RequestAuthentication" && "jwtRules" in spec && spec.jwtRules?.some(hasUnusableKey),
  )
  if (unusable !== undefined)
    return `certificates do not model keys that cannot be used, and \`${unusable.metadata.name}\` has one`
  const tokens = proofTokenRules(enforced.filter(document => document.kind === "RequestAuthentication"))
  const touched = new Set(
    tokens.flatMap(({ locations, writes }) => [...locations.map(({ name }) => name), ...writes.keys()]).map(foldedName),
  )
  if (tokens.length > 0) for (const name of OF_PREFLIGHT) touched.add(name)
  // The proxy sets these headers itself, so no token changes them.
  for (const name of ["x-forwarded-proto", "x-forwarded-client-cert"]) touched.delete(name)
  if (mesh.numTrustedProxies > 0) touched.add("x-forwarded-for")
  const read = [...headersNamed(enforced), ...headersNamedBy(asked)].filter(name => !name.startsWith(":"))
  const special = read.find(
    name =>
      name !== foldedName(name) ||
      touched.has(name) ||
      name.startsWith(`x-${mesh.names.mesh}-`) ||
      name.startsWith("proxy-"),
  )
  return special === undefined ? undefined : `certificates do not model the header \`${special}\`, which a rule reads`
}

function hasUnusableKey({ jwks }: JwtRule): boolean {
  const read = jwks === undefined ? undefined : parseKeySet(jwks)
  return read !== undefined && !(read.ok && read.keySet.skipped.length === 0)
}

/** What prevents the checker from judging a single request; undefined if nothing does. */
export function notReplayable(documents: readonly PolicyDocument[], asked: readonly Rule[] = []): string | undefined {
  const rules = documents.flatMap(({ kind, spec }) =>
    kind === "AuthorizationPolicy" && "rules" in spec ? (spec.rules ?? []) : [],
  )
  const keys = [...rules, ...asked].flatMap(({ when = [] }) => when.map(({ key }) => key.toLowerCase()))
  return keys.find(key => UNFOLLOWED.includes(key))
}

const UNFOLLOWED = [
  ...[":path", "connection", "x-forwarded-client-cert"].map(header => `request.headers[${header}]`),
  ...["exp", "nbf", "iat"].map(claim => `request.auth.claims[${claim}]`),
]
