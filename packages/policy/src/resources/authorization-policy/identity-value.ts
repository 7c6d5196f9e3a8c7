// SPDX-License-Identifier: Apache-2.0
// Formats of values that identify callers, by certificate or by token.

import { shown } from "../document-error.js"
import { error, literalStar, starWarning, type ValueCheck, type ValueFinding, warning } from "./value-finding.js"

export const PRINCIPAL: ValueCheck = value => {
  if (value.startsWith("spiffe://")) {
    // Fail closed: in a DENY rule a value that never matches allows every caller.
    return error(
      "never-matches",
      `\`${shown(value)}\` never matches: \`spiffe://\` is implied`,
      `write \`${shown(value.slice("spiffe://".length))}\``,
    )
  }
  const star = literalStar(value)
  if (star !== undefined) return star
  if (!value.includes("*") && !/^[^/]+\/ns\/[^/]+\/sa\/[^/]+$/.test(value)) {
    return warning(
      "never-matches",
      `\`${shown(value)}\` never matches: it does not have the form of an identity`,
      "write `<trust domain>/ns/<namespace>/sa/<service account>`",
    )
  }
  return foreignCharacters(value, /[^A-Za-z0-9._/*-]/u) ?? capitals(value, /^\*?[^/]*/.exec(value)?.[0] ?? "")
}

export const REQUEST_PRINCIPAL: ValueCheck = value => {
  if (value === "*") return undefined
  const slash = value.lastIndexOf("/")
  if (slash < 0) {
    if (!value.includes("*")) {
      return warning(
        "never-matches",
        `\`${shown(value)}\` matches only a token whose \`sub\` is empty`,
        `write \`${shown(value)}/*\` for any subject of that issuer`,
      )
    }
    return literalStar(value)
  }
  if (/^https?:\/\/[^/*]*$/.test(value)) {
    return warning(
      "never-matches",
      `\`${shown(value)}\` names an issuer and no subject`,
      `write \`${shown(value)}/*\` for any subject of that issuer`,
    )
  }
  const issuer = value.slice(0, slash)
  const subject = value.slice(slash + 1)
  // A star is a wildcard at the start of the issuer or, if there is none, at the end of the subject.
  const wild = issuer.startsWith("*")
  const literal = wild ? issuer.slice(1) + subject : issuer + subject.slice(0, -1)
  return literal.includes("*") ? starWarning(value) : undefined
}

export const NAMESPACE: ValueCheck = value =>
  value.includes("/")
    ? warning(
        "never-matches",
        `\`${shown(value)}\` never matches: a namespace has no \`/\``,
        "write the namespace alone",
      )
    : foreignCharacters(value, /[^A-Za-z0-9._*-]/u)

export const SERVICE_ACCOUNT: ValueCheck = (value, found) => {
  if (value.includes("*")) {
    return error("bad-value", `wildcard not allowed, found in ${found}`, "write each service account in full")
  }
  const parts = value.split("/")
  if (parts.length > 2 || parts.includes("")) {
    return error(
      "bad-value",
      `expected format 'serviceAccount' or 'namespace/serviceAccount', found \`${shown(value)}\``,
      "write `serviceAccount` or `namespace/serviceAccount`",
    )
  }
  return foreignCharacters(value, /[^A-Za-z0-9._/-]/u)
}

export const TRUST_DOMAIN: ValueCheck = (value, found) => {
  const stars = value.split("*").length - 1
  const atEnd = value.startsWith("*") || value.endsWith("*")
  if (stars > 1 || (stars === 1 && !atEnd)) {
    return error(
      "bad-value",
      `only one wildcard at either end is allowed, found \`${shown(value)}\` in ${found}`,
      "write `x*`, `*x` or the trust domain in full",
    )
  }
  if (value.includes("/")) {
    return error(
      "bad-value",
      `a trust domain has no \`/\`, found \`${shown(value)}\` in ${found}`,
      "write the trust domain alone, for example `cluster.local`",
    )
  }
  return foreignCharacters(value, /[^A-Za-z0-9._*-]/u) ?? capitals(value, value)
}

/** A peer's identity contains only these characters (SPIFFE-ID sections 2.1 and 2.2). */
function foreignCharacters(value: string, foreign: RegExp): ValueFinding | undefined {
  const [character] = foreign.exec(value) ?? []
  if (character === undefined) return undefined
  return warning(
    "never-matches",
    `\`${shown(value)}\` never matches: no identity has \`${shown(character)}\` in it`,
    "write each value by itself, of letters, digits, `.`, `-` and `_`",
  )
}

function capitals(value: string, trustDomain: string): ValueFinding | undefined {
  if (!/[A-Z]/.test(trustDomain)) return undefined
  return warning(
    "never-matches",
    `\`${shown(value)}\` never matches: a trust domain is of small letters`,
    `write \`${shown(value.replace(trustDomain, trustDomain.toLowerCase()))}\``,
  )
}
