// SPDX-License-Identifier: Apache-2.0
// The formats that the values of each field may have.

import { isTemplate, parseTemplate } from "../../authorization/path-template.js"
import { parseCidr } from "../../request/ip.js"
import { shown } from "../document-error.js"
import { NAMESPACE, PRINCIPAL, REQUEST_PRINCIPAL, SERVICE_ACCOUNT, TRUST_DOMAIN } from "./identity-value.js"
import { error, literalStar, type ValueCheck, type ValueFinding, warning } from "./value-finding.js"

const TEXT: ValueCheck = value => literalStar(value)

const HEADER: ValueCheck = value => {
  if (!/^[\t ]|[\t ]$/.test(value)) return literalStar(value)
  return warning(
    "never-matches",
    `\`${shown(value)}\` never matches: blanks around the value of a header are no part of it`,
    `write \`${shown(value.trim())}\``,
  )
}

const ADDRESS: ValueCheck = value => {
  if (parseCidr(value) !== undefined) return undefined
  return value.includes("/")
    ? error(
        "bad-value",
        `bad CIDR range (${shown(value)}): not an address and a prefix length`,
        "write a block such as `10.0.0.0/8` or `2001:db8::/32`",
      )
    : error(
        "bad-value",
        `bad IP address (${shown(value)})`,
        "write an address such as `10.0.0.1`, or a block such as `10.0.0.0/8`",
      )
}

const PORT: ValueCheck = value =>
  /^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 65_535
    ? undefined
    : error(
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
  if (/[{}]/.test(value)) return templateError(value, found)
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

// Does not use `encodeURIComponent`, which throws on a lone surrogate.
function escaped(path: string): string {
  const hex = (piece: string): string => Buffer.from(piece).toString("hex").toUpperCase()
  return path.replace(/[^\x21-\x7e]+/gu, piece => hex(piece).replace(/../g, byte => `%${byte}`))
}

function templateError(value: string, found: string): ValueFinding | undefined {
  // The path is shown without its outer slashes, as in other meshes that have templates.
  const prefix = `invalid or unsupported path ${shown(withoutOuterSlashes(value))}, found in ${found}. `
  const fix =
    "use `{*}` for one segment or `{**}` for any number, each between slashes, nothing after `{**}` but literals"
  if (!isTemplate(value))
    return error("bad-value", `${prefix}Contains '{' or '}' beyond a supported path template`, fix)
  const template = parseTemplate(value.startsWith("/") ? value : `/${value}`)
  if (typeof template === "string") return error("bad-value", prefix + shown(template), fix)
  if (!value.startsWith("/")) {
    return error("bad-value", `${prefix}A path template must begin with \`/\``, `write \`/${shown(value)}\``)
  }
  return undefined
}

// Does not use a regular expression: `/+$` would scan every run of slashes once from each of its slashes.
function withoutOuterSlashes(path: string): string {
  let [from, to] = [0, path.length]
  while (from < to && path[from] === "/") from++
  while (from < to && path[to - 1] === "/") to--
  return path.slice(from, to)
}

/** By field name, in its positive form. */
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

/** By the attribute of a condition. */
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
  "request.headers": HEADER,
  "destination.port": PORT,
  "connection.sni": TEXT,
} as const satisfies { readonly [attribute: string]: ValueCheck }
