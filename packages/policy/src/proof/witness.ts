// SPDX-License-Identifier: Apache-2.0
// Builds an example request from a solution of the search. Attributes that the search left open get a plain default
// value.

import type { Claim } from "../request/attributes.js"
import { hostComparedAs } from "../request/host.js"
import type { Dimension, Subject, Value } from "./classes/dimension.js"
import type { Frame } from "./frame.js"
import type { Assignment } from "./search/solve.js"
import type { Space } from "./space.js"
import { NO_KEY, type TokenSpace } from "./token-space.js"
import { hostOf, type ProofWorkload } from "./workload.js"

export interface WitnessToken {
  /** The token's location, as `locationId` spells it. */
  readonly place: string
  readonly claims: { readonly [name: string]: Claim }
  /** The id of the key that signs it; absent if it is not a key of any rule. */
  readonly key?: string
  readonly expires: boolean
}

/** Plain data: the request to send, and its origin. */
export interface Witness {
  readonly protocol: "http" | "tcp"
  /** The peer's identity, `<trust domain>/ns/<namespace>/sa/<service account>`; absent on plaintext. */
  readonly principal?: string
  readonly sourceIp: string
  /** Only if it differs from `sourceIp`. */
  readonly remoteIp?: string
  readonly destinationIp: string
  readonly port: number
  readonly sni?: string
  readonly method?: string
  readonly scheme?: string
  readonly host?: string
  readonly path?: string
  readonly headers?: { readonly [name: string]: readonly string[] }
  readonly token?: WitnessToken
  readonly secondToken?: WitnessToken
}

export function witnessOf(assignment: Assignment, frame: Frame, space: Space, workload: ProofWorkload): Witness {
  const pick = (dimension: Dimension): Value => assignment.get(dimension)
  const text = (dimension: Dimension, otherwise: string): string => {
    const value = pick(dimension)
    return typeof value === "string" ? value : otherwise
  }
  const sni = pick(space.sni)
  const peer = text(space.peer, `${space.trustDomain}/ns/default/sa/default`)
  const sourceIp = text(space.sourceIp, "10.0.0.9")
  const remote = space.remoteIp(frame.protocol)
  const connection = {
    ...(frame.identity ? { principal: peer } : {}),
    sourceIp,
    // If no rule reads the remote address, the request is not a forwarded one.
    ...(remote !== space.sourceIp && assignment.has(remote) ? { remoteIp: text(remote, sourceIp) } : {}),
    destinationIp: text(space.destinationIp, "10.0.0.1"),
    port: Number(text(space.port, String(workload.ports?.[0] ?? 8080))),
    ...(typeof sni === "string" ? { sni } : {}),
  }
  if (frame.protocol === "tcp") return { protocol: "tcp", ...connection }
  const host = assignment.has(space.host) ? pick(space.host) : hostOf(workload)
  return {
    protocol: "http",
    ...connection,
    method: text(space.method, "GET"),
    scheme: text(space.scheme, "http"),
    ...(typeof host === "string" ? { host: space.comparison.ignoresTrailingDot ? hostComparedAs(host) : host } : {}),
    path: text(space.path, "/"),
    headers: { ...headersOf(assignment, space), ...(frame.token === "preflight" ? PREFLIGHT : {}) },
    ...(typeof frame.token === "string" ? {} : tokensOf(assignment, frame.token, space)),
  }
}

const PREFLIGHT = { origin: ["https://app.example"], "access-control-request-method": ["GET"] }

function headersOf(assignment: Assignment, space: Space): Record<string, readonly string[]> {
  const headers: Record<string, readonly string[]> = {}
  for (const [name, dimension] of space.headers) {
    const lines = assignment.get(dimension)
    if (isList(lines) && lines.length > 0) headers[name] = lines
  }
  return headers
}

function tokensOf(
  assignment: Assignment,
  { at, second }: Exclude<Frame["token"], string>,
  space: Space,
): Pick<Witness, "token" | "secondToken"> {
  const token = tokenOf(assignment, at, space.token, space.writtenClaims)
  if (second === undefined) return { token }
  return { token, secondToken: tokenOf(assignment, second, space.secondToken, []) }
}

function tokenOf(
  assignment: Assignment,
  place: string,
  token: TokenSpace,
  written: Space["writtenClaims"],
): WitnessToken {
  const subject = assignment.get(token.subject)
  const names: Subject = isSubject(subject) ? subject : { issuer: token.issuers[0], subject: "someone" }
  const claims: Record<string, Claim> = {
    ...(names.issuer === undefined ? {} : { iss: names.issuer }),
    ...(names.subject === undefined ? {} : { sub: names.subject }),
  }
  for (const { path, dimension } of token.claims) {
    const value = assignment.get(dimension)
    const texts = isList(value) ? value : typeof value === "string" ? [value] : []
    if (texts.length > 0) put(claims, path, texts)
  }
  for (const { path, dimension } of written) {
    const value = assignment.get(dimension)
    const [text] = isList(value) ? value : [value]
    if (typeof text === "string") put(claims, path, [text])
  }
  const key = assignment.get(token.key) ?? token.keys[0]
  return {
    place,
    claims,
    ...(typeof key === "string" && key !== NO_KEY ? { key } : {}),
    expires: assignment.get(token.expiry) !== "none",
  }
}

function put(claims: Record<string, Claim>, path: readonly string[], texts: readonly string[]): void {
  const [name = "", ...rest] = path
  const [only = ""] = texts
  // A text with a space may be split at it; an element of a list is not split.
  if (rest.length === 0) claims[name] = texts.length === 1 && !only.includes(" ") && only !== "" ? only : texts
  else {
    const inner: Record<string, Claim> = { ...asObject(claims[name]) }
    put(inner, rest, texts)
    claims[name] = inner
  }
}

function asObject(claim: Claim | undefined): { readonly [name: string]: Claim } {
  if (typeof claim !== "object" || claim === null || Array.isArray(claim)) return {}
  return claim as { readonly [name: string]: Claim } // neither null nor a list, as just tested
}

const isList = (value: Value): value is readonly string[] => Array.isArray(value)
const isSubject = (value: Value): value is Subject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
