// SPDX-License-Identifier: Apache-2.0
// Judges one HTTP request through every stage in the fixed order: transport, path, token, authorization. The proxy,
// policy tests and explanations all call this function, so none of them can skip a stage or change the order.

import type { AuthorizationStage, Decision, ProviderReport } from "./authorization/decision.js"
import type { RuleRef } from "./authorization/rule.js"
import type { Reply } from "./deny-replies.js"
import type { Dialect } from "./mesh/config.js"
import type { EffectiveMode } from "./peer/mode.js"
import { decide, type Program } from "./program.js"
import type { Attributes, HeaderLines } from "./request/attributes.js"
import type { IpAddress } from "./request/ip.js"
import { JOINED_BY_ENVOY } from "./request/joined-headers.js"
import { normalizeTarget } from "./request/path.js"
import { nominatedHeaders } from "./request/protected-headers.js"
import { remoteAddress } from "./request/remote-address.js"
import type { SpiffeId } from "./request/spiffe-id.js"
import { type Authentication, authenticate } from "./tokens/authenticate.js"
import { forwardedHeaders, type RequestEdits } from "./tokens/edits.js"
import type { TokenMemory } from "./tokens/memory.js"

/** The properties of an accepted connection, which are the same for all its requests. */
export interface Connection {
  /** The identity proved by mTLS; undefined on a plaintext connection. */
  readonly peer: SpiffeId | undefined
  readonly sourceIp: IpAddress
  readonly destinationIp: IpAddress
  /** The workload's own port. */
  readonly destinationPort: number
  readonly sni: string | undefined
  /** The value of `x-forwarded-client-cert`; absent on plaintext, and if no handshake has shown a certificate. */
  readonly clientCertificate?: string | undefined
  /**
   * The connection ended at a gateway that asks about it: the mTLS mode of our port applies to the gateway's connection
   * to us instead.
   */
  readonly behindGateway?: true | undefined
}

export interface HttpRequest {
  readonly method: string
  readonly scheme: string
  /** `:authority` or `Host`; absent if the request has neither. */
  readonly host: string | undefined
  /** In origin form, as received. */
  readonly target: string
  /** As received. */
  readonly headers: HeaderLines
}

export type Judgement =
  | { readonly verdict: "deny"; readonly stage: "transport"; readonly mode: EffectiveMode; readonly reply: undefined }
  | { readonly verdict: "deny"; readonly stage: "path"; readonly reply: Reply }
  | { readonly verdict: "deny"; readonly stage: "internal"; readonly error: unknown; readonly reply: Reply }
  | {
      readonly verdict: "deny"
      readonly stage: "token"
      readonly authentication: Extract<Authentication, { outcome: "reject" }>
      readonly reply: Reply
    }
  | ({ readonly verdict: "deny"; readonly stage: AuthorizationStage; readonly reply: Reply } & Judged)
  | ({
      readonly verdict: "allow"
      readonly stage: AuthorizationStage
      /** The target for the application: normalised, and without tokens that must not be forwarded. */
      readonly target: string
      readonly edits: Omit<RequestEdits, "target">
    } & Judged)

/** The evidence of a request that reached authorization. */
interface Judged {
  readonly attributes: Attributes
  readonly authentication: Extract<Authentication, { outcome: "pass" }>
  readonly decision: Decision
  /** The answers of the providers of CUSTOM policies, if they were asked. */
  readonly answers?: readonly ProviderReport[]
}

const BAD_REQUEST: Reply = { status: 400, body: "", challenge: undefined }
const INTERNAL_ERROR: Reply = { status: 500, body: "", challenge: undefined }

const NOBODY: ReadonlySet<string> = new Set()
const NOTHING: readonly RuleRef[] = []

/**
 * `now` in seconds since the epoch. Without a memory, every signature is verified. `allowedBy` are the providers of
 * CUSTOM policies that have allowed the request; requests that other providers may deny are denied.
 */
export function judge(
  program: Program,
  connection: Connection,
  request: HttpRequest,
  now: number,
  memory?: TokenMemory,
  allowedBy: ReadonlySet<string> = NOBODY,
): Judgement {
  try {
    return throughStages(program, connection, request, now, memory, allowedBy)
  } catch (error) {
    // Fail closed: a request that cannot be evaluated is denied, and the next one is evaluated as usual.
    return { verdict: "deny", stage: "internal", error, reply: INTERNAL_ERROR }
  }
}

function throughStages(
  program: Program,
  connection: Connection,
  request: HttpRequest,
  now: number,
  memory: TokenMemory | undefined,
  allowedBy: ReadonlySet<string>,
): Judgement {
  const mode = rejectedByMode(program, connection)
  if (mode !== undefined) return { verdict: "deny", stage: "transport", mode, reply: undefined }

  const target = normalizeTarget(request.target, program.mesh.pathNormalization, program.mesh.dialect)
  if (target === undefined) return { verdict: "deny", stage: "path", reply: BAD_REQUEST }

  const { method, scheme, host } = request
  const headers = receivedHeaders(request, program.mesh.dialect)
  const normalized = { method, scheme, host, headers, target: target.path + target.query }
  const authentication = authenticate(program.tokens, normalized, now, memory)
  if (authentication.outcome === "reject") {
    const { status, body, challenge } = authentication
    const reply = program.denyReplies.ofToken({ status, body, challenge })
    return { verdict: "deny", stage: "token", authentication, reply }
  }

  const { peer, sourceIp, destinationIp, destinationPort, sni } = connection
  const remoteIp = remoteAddress(sourceIp, headers.get("x-forwarded-for"), program.mesh.numTrustedProxies)
  const { token } = authentication
  // A token in a nominated header is still verified; otherwise a caller could hide it by nominating the header.
  const edits = withoutNominated(authentication.edits, headers)
  const forwarded = edits.target ?? normalized.target
  const query = forwarded.slice(target.path.length)
  // Rules judge what the application will see: without removed tokens and without forged output headers.
  const own = (name: string) => ownHeader(name, connection, scheme, program.mesh.dialect)
  const seen = forwardedHeaders(headers, edits, program.protectedHeaders, own)
  const http = { method, scheme, host, path: target.path, query, headers: seen }
  const attributes = { peer, sourceIp, remoteIp, destinationIp, destinationPort, sni, http, token }
  const decision = decide(program, attributes, allowedBy)
  const { stage } = decision
  if (decision.verdict !== "allow") {
    const reply = program.denyReplies.ofAuthorization(decision)
    return { verdict: "deny", stage, reply, attributes, authentication, decision }
  }
  return { verdict: "allow", stage, target: forwarded, edits, attributes, authentication, decision }
}

/**
 * The rules whose providers must answer before the decision counts: CUSTOM comes before DENY and ALLOW, so providers
 * are asked even if another rule denies. Requests that did not reach authorization are not sent to providers.
 */
export function providersToAsk(
  { authorization }: Program,
  judgement: Judgement,
  allowedBy: ReadonlySet<string> = NOBODY,
): readonly RuleRef[] {
  return "attributes" in judgement ? authorization.asked(judgement.attributes, allowedBy) : NOTHING
}

function withoutNominated(edits: RequestEdits, headers: HeaderLines): RequestEdits {
  const nominated = nominatedHeaders(headers.get("connection"))
  return nominated === undefined ? edits : { ...edits, removeHeaders: [...edits.removeHeaders, ...nominated] }
}

/** As Istio's proxy reads them: it accepts `X-Forwarded-Proto` from its caller, and adds it if it is missing. */
function receivedHeaders({ headers, scheme }: HttpRequest, dialect: Dialect | undefined): HeaderLines {
  if (dialect !== "istio") return headers
  return {
    get(name) {
      const lines = headers.get(name)
      if (lines === undefined) return name === "x-forwarded-proto" ? [scheme] : undefined
      return lines.length > 1 && JOINED_BY_ENVOY.has(name) ? [lines.join(",")] : lines
    },
  }
}

/** The value that the proxy sets under this name; an empty list if it removes the header. */
function ownHeader(
  name: string,
  { peer, clientCertificate }: Connection,
  scheme: string,
  dialect: Dialect | undefined,
): readonly string[] | undefined {
  if (name === "x-forwarded-proto") return dialect === "istio" ? undefined : [scheme]
  if (name !== "x-forwarded-client-cert") return undefined
  if (peer === undefined) return []
  return [clientCertificate ?? `Hash=${UNKNOWN_HASH};Subject="";URI=${peer.uri}`]
}

/** The hash of a certificate that no handshake has shown, as in a policy test. */
const UNKNOWN_HASH = "0".repeat(64)

/** The mode of the port if it rejects this connection: STRICT requires an identity, DISABLE does not accept TLS. */
export function rejectedByMode(
  program: Program,
  { peer, destinationPort, behindGateway }: Connection,
): EffectiveMode | undefined {
  if (behindGateway) return undefined
  const { mode } = program.peers.resolve(destinationPort)
  const denied = peer === undefined ? "STRICT" : "DISABLE"
  return mode === denied ? mode : undefined
}
