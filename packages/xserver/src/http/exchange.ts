// SPDX-License-Identifier: Apache-2.0
// One request of a caller and its response: judged, then forwarded in both directions as it comes, or answered here.
// Knows messages; how they are written to the caller is the responder's to know, of either version of HTTP.

import type { HttpRequest } from "@merlon/policy/authorization"
import type { ProtectedHeaders } from "@merlon/policy/request"
import { type BorrowedBytes, FIELD_KIND } from "@merlon/wire"
import type {
  Beginning,
  Exchange as DownstreamExchange,
  HttpFault,
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
} from "@merlon/wire/http"
import { type FieldPairs, type Fields, isRefused, pairsOf, upgradeOf } from "@merlon/wire/http"
import { REQUEST_ID_HEADER, requestId } from "../accept/forwarded-headers.js"
import { newDecisionId } from "../enforcement/decision-id.js"
import type { Admission, Judged } from "../enforcement/gate.js"
import { NO_REQUEST, type RequestRecord } from "../observe/meters.js"
import type { RequestTrace } from "../trace/tracer.js"
import type { Caller } from "./caller.js"
import { ForwardedRequest, type HeaderEdits, keepsRequestTrailer, removeNominated } from "./forwarded-request.js"
import { faultReply, TOO_SLOW, UPSTREAM_REPLIES } from "./local-reply.js"

const NO_TRAILERS: FieldPairs = []
const NO_EDITS: HeaderEdits = { removeHeaders: [], setHeaders: [], cookie: undefined }

export class Exchange implements DownstreamExchange, UpstreamListener {
  readonly head: RequestHead
  readonly #caller: Caller
  readonly #responder: Responder
  readonly #startedAt = performance.now()
  #admission: Admission<Judged> | undefined
  /** As it was judged, for the next time. */
  #request: HttpRequest | undefined
  readonly #protected: ProtectedHeaders
  #refusal: LocalReply | undefined
  #decisionId: string | undefined
  #edits = NO_EDITS
  #requestId: string | undefined
  #trace: RequestTrace | undefined
  #call: UpstreamCall | undefined
  #status = 0
  #bytesReceived = 0
  #bytesSent = 0
  #failure: UpstreamFailure | undefined
  #over = false
  /** The application's response has begun. */
  responseStarted = false

  constructor(caller: Caller, responder: Responder, head: RequestHead) {
    this.#caller = caller
    this.#responder = responder
    this.#protected = caller.services.gate.program.protectedHeaders
    this.head = head
  }

  /** Whether more of the request must wait. */
  get full(): boolean {
    return this.#call?.full ?? false
  }

  get over(): boolean {
    return this.#over
  }

  begin(): Beginning {
    const { head } = this
    const { services, accepted, connection } = this.#caller
    this.#trace = services.tracer?.begin(head.headers)
    const scheme = accepted.certificate === undefined ? "http" : "https"
    const { method, host, target, headers } = head
    const request: HttpRequest = { method, scheme, host, target, headers }
    this.#request = request
    const admission = services.gate.admit(connection, request)
    const { judgement } = admission
    this.#admission = admission
    this.#requestId = requestId(headers.has(FIELD_KIND.requestId) ? headers.get(REQUEST_ID_HEADER) : undefined)
    if (judgement.verdict === "deny") {
      this.#refusal = this.#refusalOf(admission)
      return this.#refusal === undefined ? "closed" : "refused"
    }
    const { upstream } = services
    const upgrade = upgradeOf(head, accepted.port.upgrades ?? [])
    if (isRefused(upgrade)) {
      this.#admission = services.gate.refuseProtocol("upgrade")
      const fields = this.#caller.decisionField(this.#admission.decisionId)
      this.#refusal = { status: 403, body: "upgrade not allowed", fields }
      return "refused"
    }
    const { target: forwardedTarget } = judgement
    this.#edits = withTrace(judgement.edits, this.#trace)
    const edited = { target: forwardedTarget, edits: this.#edits }
    const { forwarded: about } = this.#caller
    const forwarded = new ForwardedRequest(head, edited, this.#requestId, upgrade, about, this.#protected)
    this.#call = upstream.send(forwarded, this)
    return "forwarded"
  }

  // The request, as the client sends it.

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#bytesReceived += to - from
    this.#call?.content(bytes, from, to)
  }

  /** After an upgrade: the client has said all it wants to. */
  requestEnd(trailers: Fields | undefined): void {
    // The rules in force may have changed since the request began.
    const { protectedHeaders: now } = this.#caller.services.gate.program
    const keeps = (name: string): boolean =>
      keepsRequestTrailer(name, this.#edits, this.#protected) && !now.dropsTrailer(name)
    const kept = trailers && pairsOf(trailers, keeps)
    this.#call?.finishRequest(kept ?? NO_TRAILERS)
  }

  /** All that came at once has been told. */
  flush(): void {
    this.#call?.flush()
  }

  // The response, as the application sends it.

  onInformational(response: ResponseHead): void {
    // RFC 9110 section 15.2: HTTP/1.0 has no such responses, and `100` only answers who asked.
    if (this.head.version === "http/1.0" || (response.status === 100 && !this.head.expectsContinue)) return
    this.#responder.informational(response)
  }

  onResponse(response: ResponseHead): void {
    this.#status = response.status
    removeNominated(response.headers)
    this.responseStarted = true
    if (this.#responder.respond(response)) return
    this.responseStarted = false
    this.#failure = "protocol"
    this.reply(UPSTREAM_REPLIES.protocol)
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    this.#bytesSent += to - from
    this.#responder.content(bytes, from, to)
  }

  onPause(): void {
    this.#responder.flush()
    if (!this.#over && this.#responder.full) this.#call?.pause()
  }

  onEnd(trailers: Fields | undefined): void {
    this.#responder.end(trailers)
  }

  onFailure(failure: UpstreamFailure): void {
    this.#call = undefined
    this.#failure = failure
    if (this.responseStarted) this.#responder.breakOff("failed")
    else this.reply(UPSTREAM_REPLIES[failure])
  }

  onWritable(): void {
    if (!this.full) this.#responder.requestWritable()
  }

  /** The client has taken what was waiting. */
  drained(): void {
    this.#call?.resume()
  }

  // Other ways to end.

  /** By the policies and the mode in force. Where they refuse it, it is answered so, or broken off if it is too late. */
  judgeAgain(): void {
    const { services, accepted, connection } = this.#caller
    if (this.#call === undefined || this.#request === undefined || this.#admission === undefined) return
    const refused = isRefused(upgradeOf(this.head, accepted.port.upgrades ?? []))
      ? services.gate.refuseProtocol("upgrade")
      : services.gate.refusedNow(connection, this.#request, this.#admission)
    if (refused !== undefined) this.endByChange(refused)
  }

  endByChange(admission: Admission<Judged>): void {
    const { services } = this.#caller
    services.meters.endedByChange(this.head.version, admission.judgement.stage)
    this.#admission = admission
    const refusal = this.responseStarted ? undefined : this.#refusalOf(admission)
    if (refusal !== undefined) {
      this.reply(refusal)
      return
    }
    this.abort()
    this.#responder.breakOff("refused")
  }

  /** Writes the refusal that `begin` found. */
  refuse(): void {
    if (this.#refusal !== undefined) this.reply(this.#refusal)
  }

  /** Answers here, instead of the application. */
  reply(reply: LocalReply): void {
    if (this.#over) return
    this.#call?.abort()
    this.#call = undefined
    this.#status = reply.status
    this.#responder.reply(reply)
  }

  /** For the responder: the status under which an answer of ours goes to this caller, where that is another. */
  answeredAs(status: number): void {
    this.#status = status
  }

  timedOut(who: "client" | "server"): void {
    this.reply(who === "server" ? UPSTREAM_REPLIES["response-timeout"] : TOO_SLOW)
  }

  /** The content turned out to be malformed on the way. */
  refuseContent(fault: HttpFault): void {
    this.#decisionId = newDecisionId()
    this.reply(faultReply(fault, this.#caller.decisionField(this.#decisionId)))
  }

  /** The client's connection has gone, or must go. */
  abort(): void {
    this.#call?.abort()
    this.#call = undefined
    this.finish()
  }

  /** What the caller is answered; undefined where it is told nothing. */
  #refusalOf({ judgement, decisionId }: Admission<Judged>): LocalReply | undefined {
    if (!("reply" in judgement) || judgement.reply === undefined) return undefined
    const { status, body, challenge } = judgement.reply
    const named = this.#caller.decisionField(decisionId)
    const fields = challenge === undefined ? named : [...named, ["www-authenticate", challenge] as const]
    return { status, body, fields }
  }

  /** All is over, and goes on record. */
  finish(): void {
    if (this.#over) return
    this.#over = true
    const { head } = this
    const { services, accepted } = this.#caller
    const query = head.target.indexOf("?")
    const record: RequestRecord = {
      protocol: head.version,
      judgement: this.#admission?.judgement,
      decisionId: this.#decisionId ?? this.#admission?.decisionId,
      requestId: this.#requestId,
      method: head.method,
      host: head.host ?? "",
      path: query < 0 ? head.target : head.target.slice(0, query),
      status: this.#status,
      bytesReceived: this.#bytesReceived,
      bytesSent: this.#bytesSent,
      durationMs: performance.now() - this.#startedAt,
      peer: accepted.connection.peer?.uri,
      source: accepted.connection.sourceIp.text,
      port: accepted.port.port,
      upstreamFailure: this.#failure,
      traceId: this.#trace?.traceId,
    }
    services.meters.requestDone(record)
    this.#trace?.done(record)
  }
}

/** What was decided of a trace takes the place of what the caller sent; a policy that writes there has the last word. */
function withTrace(edits: HeaderEdits, trace: RequestTrace | undefined): HeaderEdits {
  if (trace?.headers === undefined) return edits
  const told = trace.headers.filter(([name]) => !edits.setHeaders.some(([set]) => set === name))
  return {
    ...edits,
    removeHeaders: [...edits.removeHeaders, ...told.map(([name]) => name)],
    setHeaders: [
      ...edits.setHeaders,
      ...told.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
    ],
  }
}

/** For what could not be read as a request: its record, and the answer with the id under which that is found. */
export function unreadable(caller: Caller, version: RequestHead["version"], status: number, body: string): LocalReply {
  const { services, accepted } = caller
  const decisionId = newDecisionId()
  services.meters.requestDone({
    ...NO_REQUEST,
    protocol: version,
    judgement: undefined,
    decisionId,
    status,
    peer: accepted.connection.peer?.uri,
    source: accepted.connection.sourceIp.text,
    port: accepted.port.port,
  })
  return { status, body, fields: caller.decisionField(decisionId) }
}
