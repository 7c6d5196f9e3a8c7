// SPDX-License-Identifier: Apache-2.0
// Converts a gateway's question, in any of its protocols, to the request and the connection that the policies decide
// on. Pure. An incomplete or contradictory question is denied.

import type { Connection, HttpRequest } from "@merlon/policy/authorization"
import type { HeaderLines, IpAddress } from "@merlon/policy/request"
import { parseIp, parseSpiffeId, type SpiffeId } from "@merlon/policy/request"
import type { RequestHead } from "@merlon/wire/http"
import type { CheckQuestion } from "@merlon/xds/authz"
import type { Evaluation } from "./authzen.js"
import { FORWARD_AUTH, type GatewayTrust, lastAddress, lastClientIdentity } from "./gateway-trust.js"

export interface Question {
  readonly connection: Connection
  readonly request: HttpRequest
  /** Lower-case names of the request headers that the gateway sent. */
  readonly headerNames: () => readonly string[]
  /** Whether a header's value with a comma may be several lines that the gateway joined, as Envoy does. */
  readonly joinsLines: (name: string) => boolean
  /**
   * Names of the Gateway and route that the request takes, by the label of authorizers that serve them; empty if the
   * gateway does not send them.
   */
  readonly targets: { readonly [label: string]: string }
}

interface AskedHeaders extends HeaderLines {
  names(): readonly string[]
}

/**
 * `unusable-question`: a field is missing, malformed or given twice. `no-forward-auth`: forward authentication is not
 * enabled here. `untrusted-subject`: the question states an identity without being trusted to.
 */
export type QuestionError = "unusable-question" | "no-forward-auth" | "untrusted-subject"

/** Envoy's `path_prefix`; the original path follows it. */
export const ENVOY_HTTP_PREFIX = "/ext-authz"
export const FORWARD_AUTH_PATH = "/forward-auth"

const HTTP_METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/
/** RFC 9110 section 7.2: the characters of an authority, without user information. */
export const HOST = /^[A-Za-z0-9._~%!$&'()*+,;=:[\]-]{1,1024}$/
const SCHEME = /^https?$/
/** RFC 9112 section 3.2: visible characters, or bytes beyond ASCII. */
const TARGET = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/

const ALL = (): boolean => true
const NONE = (): boolean => false

/** Envoy's HTTP protocol: the original method and path, and the headers that Envoy is configured to send. */
export function ofEnvoyHttp(head: RequestHead, gateway: Connection, trust: GatewayTrust): Question | QuestionError {
  const target = head.target.slice(ENVOY_HTTP_PREFIX.length)
  const asked = { method: head.method, target, host: head.host, scheme: "http", joinsLines: ALL }
  return question(asked, sentIn(head), gateway, trust)
}

/** Forward authentication: a fixed path, and the original request in headers that the gateway writes. */
export function ofForwardAuth(head: RequestHead, gateway: Connection, trust: GatewayTrust): Question | QuestionError {
  if (trust.forwardAuth === undefined) return "no-forward-auth"
  const names = FORWARD_AUTH[trust.forwardAuth]
  const [method, target, host, scheme] = [names.method, names.uri, names.host, names.scheme].map(name =>
    single(head.headers.get(name)),
  )
  return question({ method, target, host, scheme, joinsLines: NONE }, sentIn(head), gateway, trust)
}

/** Envoy's gRPC protocol. */
export function ofCheck(asked: CheckQuestion, gateway: Connection, trust: GatewayTrust): Question | QuestionError {
  const { http, sni, contextExtensions: targets } = asked
  if (http === undefined) return "unusable-question"
  const headers = new Map<string, string[]>()
  for (const [name, value] of http.headers) {
    if (name.startsWith(":")) continue
    const lines = headers.get(name)
    if (lines === undefined) headers.set(name, [value])
    else lines.push(value)
  }
  // If a value is given twice, both must agree.
  const agreesWith = (name: string, value: string): boolean =>
    http.headers.every(([other, line]) => other !== name || line === value)
  const agrees =
    agreesWith(":method", http.method) &&
    agreesWith(":path", http.path) &&
    agreesWith(":authority", http.host) &&
    agreesWith("host", http.host) &&
    agreesWith(":scheme", http.scheme)
  if (!agrees) return "unusable-question"
  const { method, path: target, host, scheme } = http
  const stated: Statements = {
    by: "attribute",
    // Other names in a certificate are not mesh identities.
    targets,
    peer: asked.sourcePrincipal === undefined ? undefined : parseSpiffeId(asked.sourcePrincipal),
    address: asked.sourceAddress === undefined ? undefined : parseIp(asked.sourceAddress),
  }
  const request = { method, target, host, scheme: scheme || "http", joinsLines: ALL }
  return question(request, linesOf(headers), { ...gateway, sni }, trust, stated)
}

/** One evaluation of AuthZEN. */
export function ofEvaluation(asked: Evaluation, gateway: Connection, trust: GatewayTrust): Question | QuestionError {
  const { headers, joined, peer, address } = asked
  // An untrusted identity must not be ignored here: rules that deny it would not match.
  if (peer !== undefined && trust.peer !== "subject") return "untrusted-subject"
  const request = { ...asked, joinsLines: (name: string) => joined.has(name) }
  return question(request, linesOf(headers), { ...gateway, sni: undefined }, trust, { by: "subject", peer, address })
}

function linesOf(headers: ReadonlyMap<string, readonly string[]>): AskedHeaders {
  return { get: name => headers.get(name), names: () => [...headers.keys()] }
}

/** What a question states about the gateway's caller in fields that the gateway itself writes. */
interface Statements {
  readonly by: "attribute" | "subject"
  readonly targets?: Question["targets"]
  readonly peer: SpiffeId | undefined
  readonly address: IpAddress | undefined
}

interface StatedRequest {
  readonly method: string | undefined
  readonly target: string | undefined
  readonly host: string | undefined
  readonly scheme: string | undefined
  readonly joinsLines: (name: string) => boolean
}

function question(
  { method, target, host, scheme, joinsLines }: StatedRequest,
  headers: AskedHeaders,
  gateway: Connection,
  trust: GatewayTrust,
  stated?: Statements,
): Question | QuestionError {
  if (method === undefined || target === undefined || host === undefined || scheme === undefined)
    return "unusable-question"
  const readable = HTTP_METHOD.test(method) && TARGET.test(target) && HOST.test(host) && SCHEME.test(scheme)
  if (!readable || (target === "*" && method !== "OPTIONS")) return "unusable-question"
  const peer = peerOf(headers, trust, stated)
  const sourceIp = addressOf(headers, gateway, trust, stated)
  if (peer === "malformed" || sourceIp === undefined) return "unusable-question"
  const seen: HeaderLines = { get: name => (name === "host" ? [host] : headers.get(name)) }
  return {
    connection: { ...gateway, peer, sourceIp, clientCertificate: undefined, behindGateway: true },
    request: { method, scheme, host, target, headers: seen },
    headerNames: () => headers.names(),
    joinsLines,
    targets: stated?.targets ?? {},
  }
}

function sentIn({ headers }: RequestHead): AskedHeaders {
  return {
    get: name => headers.get(name),
    names: () => Array.from({ length: headers.size }, (_, index) => headers.name(index)),
  }
}

function peerOf(headers: HeaderLines, { peer }: GatewayTrust, stated: Statements | undefined) {
  if (peer === undefined) return undefined
  if (typeof peer === "object") return lastClientIdentity(headers.get(peer.header))
  return stated?.by === peer ? stated.peer : undefined
}

/** Undefined if the address should be in a trusted place but is missing. */
function addressOf(
  headers: HeaderLines,
  gateway: Connection,
  { address }: GatewayTrust,
  stated: Statements | undefined,
): IpAddress | undefined {
  if (address === undefined) return gateway.sourceIp
  if (typeof address === "object") return lastAddress(headers.get(address.header))
  return stated?.by === address ? stated.address : undefined
}

function single(lines: readonly string[] | undefined): string | undefined {
  return lines?.length === 1 ? lines[0] : undefined
}
