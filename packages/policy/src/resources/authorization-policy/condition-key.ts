// SPDX-License-Identifier: Apache-2.0
// Parses the `key` of a condition into the attribute it names, or an error. Validation and the evaluator both use this
// parser.

import { nearest } from "../../shape/nearest.js"
import { isMatchableHeader } from "../header-name.js"

export const PLAIN_ATTRIBUTES = [
  "source.ip",
  "remote.ip",
  "source.namespace",
  "source.principal",
  "source.serviceAccount",
  "source.trustDomain",
  "request.auth.principal",
  "request.auth.audiences",
  "request.auth.presenter",
  "destination.ip",
  "destination.port",
  "connection.sni",
] as const

export type PlainAttribute = (typeof PLAIN_ATTRIBUTES)[number]

export type ConditionKey =
  | { readonly attribute: PlainAttribute }
  /** Lower-case header name. */
  | { readonly attribute: "request.headers"; readonly name: string }
  /** A path of nested claims. */
  | { readonly attribute: "request.auth.claims"; readonly path: readonly string[] }

export interface BadKey {
  readonly problem: string
  readonly fix: string
  readonly supported: boolean
}

const HEADERS = "request.headers"
const CLAIMS = "request.auth.claims"
const EXPERIMENTAL = "experimental.envoy.filters."

const REMOVED: { readonly [key: string]: readonly [problem: string, fix: string] } = {
  "destination.namespace": [
    "attribute destination.namespace is replaced by the metadata.namespace",
    "put the policy into the namespace of the workloads",
  ],
  "destination.name": [
    "deprecated attribute destination.name: only supported in v1alpha1",
    "select the workloads by `selector.matchLabels`",
  ],
  "destination.user": [
    "deprecated attribute destination.user: only supported in v1alpha1",
    "select the workloads by `selector.matchLabels`",
  ],
}

export function parseConditionKey(key: string): ConditionKey | BadKey {
  const plain = PLAIN_ATTRIBUTES.find(attribute => attribute === key)
  if (plain !== undefined) return { attribute: plain }
  if (key.startsWith(HEADERS)) return headerKey(key)
  if (key.startsWith(CLAIMS)) return claimsKey(key)
  if (key.startsWith(EXPERIMENTAL)) {
    return bad(
      `the attribute ${key} is not supported: it reads the inside of another proxy`,
      "use `request.headers[...]` or `request.auth.claims[...]`",
      false,
    )
  }
  if (key.startsWith("destination.labels")) {
    return bad(
      `attribute ${key} is replaced by the workload selector`,
      "select the workloads by `selector.matchLabels`",
      false,
    )
  }
  const removed = Object.hasOwn(REMOVED, key) ? REMOVED[key] : undefined
  if (removed !== undefined) return bad(removed[0], removed[1], false)
  return bad(`unknown attribute: ${key}`, suggestion(key))
}

function headerKey(key: string): ConditionKey | BadKey {
  const name = inBrackets(key.slice(HEADERS.length))
  if (name === undefined) return badFormat(key, "request.headers[x-tier]")
  if (!isMatchableHeader(name))
    return bad(`bad key (${key}): \`${name}\` is not a valid header name`, "write a header name such as `x-tier`")
  return { attribute: HEADERS, name: name.toLowerCase() }
}

function claimsKey(key: string): ConditionKey | BadKey {
  const brackets = key.slice(CLAIMS.length)
  const whole = inBrackets(brackets)
  if (whole === undefined) return badFormat(key, "request.auth.claims[groups]")
  const regular = /^(\[[^[\]]*\])+$/.test(brackets)
  // Irregular brackets are part of a single name, as in the other meshes that have this key.
  const path = regular ? brackets.slice(1, -1).split("][") : [whole]
  return path.includes("") ? badFormat(key, "request.auth.claims[realm][roles]") : { attribute: CLAIMS, path }
}

/** The text between the outermost brackets; undefined if there are none or the text is empty. */
function inBrackets(text: string): string | undefined {
  return text.length > 2 && text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : undefined
}

function suggestion(key: string): string {
  const base = key.replace(/\[.*$/s, "")
  const near = nearest(base, [...PLAIN_ATTRIBUTES, HEADERS, CLAIMS])
  if (near === HEADERS || near === CLAIMS) {
    const rest = key.slice(base.length)
    return `did you mean \`${near}${rest === "" ? "[name]" : rest}\`?`
  }
  if (near !== undefined) return `did you mean \`${near}\`?`
  return "see the reference page for the attributes, for example `request.headers[...]` or `source.ip`"
}

function badFormat(key: string, example: string): BadKey {
  return bad(`bad key (${key}): should have format a[b]`, `write for example \`${example}\``)
}

function bad(problem: string, fix: string, supported = true): BadKey {
  return { problem, fix, supported }
}
