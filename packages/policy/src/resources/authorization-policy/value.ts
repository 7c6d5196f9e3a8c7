// SPDX-License-Identifier: Apache-2.0
// The forms that the values of each field may have. A value that cannot be read is a fault; one that can be read and
// would hardly do what its author thinks is a warning, or a fault where a DENY would silently let everything through.

import { isTemplate, parseTemplate } from "../../authorization/path-template.js"
import { parseCidr } from "../../request/ip.js"
import { type FaultCode, shown, type WarningCode } from "../fault.js"

export type ValueFinding =
  | { readonly severity: "fault"; readonly code: FaultCode; readonly problem: string; readonly fix: string }
  | { readonly severity: "warning"; readonly code: WarningCode; readonly problem: string; readonly fix: string }

/** `found` is the field as refusals spell it, `Paths` or `NotPaths`. */
export type ValueCheck = (value: string, found: string) => ValueFinding | undefined

const TEXT: ValueCheck = value => literalStar(value)

const PRINCIPAL: ValueCheck = value => {
  if (value.startsWith("spiffe://")) {
    // Fail closed: in a DENY rule a value that never matches lets everybody through.
    return fault(
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
  return undefined
}

const REQUEST_PRINCIPAL: ValueCheck = value => {
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
  // A star is a wildcard at the start of the issuer or, only where there is none, at the end of the subject.
  const wild = issuer.startsWith("*")
  const literal = wild ? issuer.slice(1) + subject : issuer + subject.slice(0, -1)
  return literal.includes("*") ? starWarning(value) : undefined
}

const NAMESPACE: ValueCheck = value =>
  value.includes("/")
    ? warning(
        "never-matches",
        `\`${shown(value)}\` never matches: a namespace has no \`/\``,
        "write the namespace alone",
      )
    : undefined

const SERVICE_ACCOUNT: ValueCheck = (value, found) => {
  if (value.includes("*")) {
    return fault("bad-value", `wildcard not allowed, found in ${found}`, "write each service account in full")
  }
  const parts = value.split("/")
  if (parts.length > 2 || parts.includes("")) {
    return fault(
      "bad-value",
      `expected format 'serviceAccount' or 'namespace/serviceAccount', found \`${shown(value)}\``,
      "write `serviceAccount` or `namespace/serviceAccount`",
    )
  }
  return undefined
}

const TRUST_DOMAIN: ValueCheck = (value, found) => {
  const stars = value.split("*").length - 1
  const atEnd = value.startsWith("*") || value.endsWith("*")
  if (stars > 1 || (stars === 1 && !atEnd)) {
    return fault(
      "bad-value",
      `only one wildcard at either end is allowed, found \`${shown(value)}\` in ${found}`,
      "write `x*`, `*x` or the trust domain in full",
    )
  }
  if (value.includes("/")) {
    return fault(
      "bad-value",
      `a trust domain has no \`/\`, found \`${shown(value)}\` in ${found}`,
      "write the trust domain alone, for example `cluster.local`",
    )
  }
  return undefined
}

const ADDRESS: ValueCheck = value => {
  if (parseCidr(value) !== undefined) return undefined
  return value.includes("/")
    ? fault(
        "bad-value",
        `bad CIDR range (${shown(value)}): not an address and a prefix length`,
        "write a block such as `10.0.0.0/8` or `2001:db8::/32`",
      )
    : fault(
        "bad-value",
        `bad IP address (${shown(value)})`,
        "write an address such as `10.0.0.1`, or a block such as `10.0.0.0/8`",
      )
}

const PORT: ValueCheck = value =>
  /^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 65_535
    ? undefined
    : fault(
        "bad-value",
        `bad port (${shown(value)}): not a number from 0 to 65535`,
        'write one port as a quoted number, for example `"8080"`',
      )

const HOST: ValueCheck = value => {
  if (/^[a-z]+:\/\//i.test(value)) {
    return warning("never-matches", `\`${shown(value)}\` never matches: a host has no scheme`, "write the host alone")
  }
  const star = literalStar(value)
  if (star !== undefined || /^\*?[A-Za-z0-9\-._~!$&'()+;=%[\]:]*\*?$/.test(value)) return star
  return warning(
    "never-matches",
    `\`${shown(value)}\` never matches: no request has such a host`,
    "write the host as it is sent, without a path, and a name beyond ASCII as `xn--…`",
  )
}

const METHOD: ValueCheck = value => {
  const upper = value.toUpperCase()
  if (upper !== value) {
    return warning(
      "lower-case-method",
      `\`${shown(value)}\` is compared with regard to case and matches no usual method`,
      `write \`${shown(upper)}\``,
    )
  }
  const star = literalStar(value)
  // RFC 9110 section 9.1: a method is a token.
  if (star !== undefined || /^[!#$%&'*+\-.^_`|~0-9A-Z]+$/.test(value)) return star
  return warning(
    "never-matches",
    `\`${shown(value)}\` never matches: no request has such a method`,
    "write each method as a value of its own",
  )
}

const PATH: ValueCheck = (value, found) => {
  if (/[{}]/.test(value)) return templateFault(value, found)
  if (!/^[/*]/.test(value)) {
    return warning(
      "never-matches",
      `\`${shown(value)}\` never matches: a path begins with \`/\``,
      `write \`/${shown(value)}\``,
    )
  }
  if (/[?#]/.test(value)) {
    return warning(
      "never-matches",
      `\`${shown(value)}\` never matches: paths are compared without query and fragment`,
      "cut it at the `?` or `#`",
    )
  }
  if (/[^\x21-\x7e]/.test(value)) {
    return warning(
      "never-matches",
      `\`${shown(value)}\` never matches: what is not visible ASCII is sent as escapes, in capitals or not`,
      `write \`${shown(escaped(value))}\`, and a second value with its escapes in the other case`,
    )
  }
  return literalStar(value)
}

// Not by `encodeURIComponent`, which throws at half a surrogate pair.
function escaped(path: string): string {
  const hex = (piece: string): string => Buffer.from(piece).toString("hex").toUpperCase()
  return path.replace(/[^\x21-\x7e]+/gu, piece => hex(piece).replace(/../g, byte => `%${byte}`))
}

function templateFault(value: string, found: string): ValueFinding | undefined {
  // Printed without its outer slashes, as the meshes that have templates print it.
  const prefix = `invalid or unsupported path ${shown(withoutOuterSlashes(value))}, found in ${found}. `
  const fix =
    "use `{*}` for one segment or `{**}` for any number, each between slashes, nothing after `{**}` but literals"
  if (!isTemplate(value))
    return fault("bad-value", `${prefix}Contains '{' or '}' beyond a supported path template`, fix)
  const template = parseTemplate(value.startsWith("/") ? value : `/${value}`)
  if (typeof template === "string") return fault("bad-value", prefix + shown(template), fix)
  if (!value.startsWith("/")) {
    return fault("bad-value", `${prefix}A path template must begin with \`/\``, `write \`/${shown(value)}\``)
  }
  return undefined
}

// Not by an expression: `/+$` would look at every run of slashes once from each of its slashes.
function withoutOuterSlashes(path: string): string {
  let [from, to] = [0, path.length]
  while (from < to && path[from] === "/") from++
  while (from < to && path[to - 1] === "/") to--
  return path.slice(from, to)
}

/** `*` counts at one end only; with one at both ends the second is a literal. */
function literalStar(value: string): ValueFinding | undefined {
  const literal = value.startsWith("*") ? value.slice(1) : value.slice(0, -1)
  return literal.includes("*") ? starWarning(value) : undefined
}

function starWarning(value: string): ValueFinding {
  return warning(
    "literal-wildcard",
    `in \`${shown(value)}\` a \`*\` is taken literally: it is a wildcard at one end of a value only`,
    "write `x*`, `*x` or `*`",
  )
}

function fault(code: FaultCode, problem: string, fix: string): ValueFinding {
  return { severity: "fault", code, problem, fix }
}

function warning(code: WarningCode, problem: string, fix: string): ValueFinding {
  return { severity: "warning", code, problem, fix }
}

/** By field, in its positive form. */
export const FIELD_CHECKS = {
  principals: PRINCIPAL,
  requestPrincipals: REQUEST_PRINCIPAL,
  namespaces: NAMESPACE,
  serviceAccounts: SERVICE_ACCOUNT,
  trustDomains: TRUST_DOMAIN,
  ipBlocks: ADDRESS,
  remoteIpBlocks: ADDRESS,
  hosts: HOST,
  ports: PORT,
  methods: METHOD,
  paths: PATH,
} as const satisfies { readonly [field: string]: ValueCheck }

/** By attribute of a condition. */
export const ATTRIBUTE_CHECKS = {
  "source.ip": ADDRESS,
  "remote.ip": ADDRESS,
  "destination.ip": ADDRESS,
  "source.namespace": NAMESPACE,
  "source.principal": PRINCIPAL,
  "source.serviceAccount": SERVICE_ACCOUNT,
  "source.trustDomain": TRUST_DOMAIN,
  "request.auth.principal": REQUEST_PRINCIPAL,
  "request.auth.audiences": TEXT,
  "request.auth.presenter": TEXT,
  "request.auth.claims": TEXT,
  "request.headers": TEXT,
  "destination.port": PORT,
  "connection.sni": TEXT,
} as const satisfies { readonly [attribute: string]: ValueCheck }
