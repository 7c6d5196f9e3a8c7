// SPDX-License-Identifier: Apache-2.0
// One request of a caller and its response: judged, then streamed in both directions, or answered by the proxy. The
// responder of either HTTP version writes to the caller.

import type { HttpRequest, Judgement } from "@merlon/policy/authorization"
import type { ProtectedHeaders } from "@merlon/policy/request"
import type { BorrowedBytes } from "@merlon/wire"
import type {
  ExchangeStart,
  HttpError,
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
} from "@merlon/wire/http"
import {
  type FieldPairs,
  type Fields,
  isRejected,
  neverProcessed,
  pairsOf,
  requestId,
  upgradeOf,
} from "@merlon/wire/http"
import { newDecisionId } from "../enforcement/decision-id.js"
import type { Admission } from "../enforcement/gate.js"
import type { Judged } from "../enforcement/verdict.js"
import type { RequestRecord } from "../observe/meters.js"
import type { Answers } from "../providers/providers.js"
import type { RequestTrace } from "../trace/tracer.js"
import type { Caller } from "./caller.js"
import type { CallerExchange, NewExchange } from "./caller-connection.js"
import { Consultation } from "./consultation.js"
import { ForwardedRequest, type HeaderEdits, keepsRequestTrailer, removeNominated } from "./forwarded-request.js"
import { withAnswers, withTrace } from "./header-edits.js"
import { HeldRequest } from "./held-request.js"
import { errorReply, NOT_FORWARDED, RESET, TOO_SLOW, UPSTREAM_REPLIES } from "./local-reply.js"

/**
 * `received`: not judged yet. `asking`: the providers of CUSTOM policies are queried, and nothing has been forwarded.
 * `denied`: the reply, if there is one, is still to be written. `forwarded`: the application has the request and has
 * not responded. `responding`: the application's response is being sent to the caller. `answered`: the proxy sent a
 * reply of its own instead. `abandoned`: the caller has disconnected, or is disconnected. `over`: the exchange is
 * complete and recorded.
 */
type State =
  | { readonly at: "received" | "answered" | "abandoned" | "over" }
  | Asking
  | { readonly at: "denied"; readonly reply: LocalReply | undefined }
  | InFlight

interface Asking {
  readonly at: "asking"
  readonly held: HeldRequest
  readonly consultation: Consultation
}

interface InFlight {
  readonly at: "forwarded" | "responding"
  readonly call: UpstreamCall
  /** The header edits of the judgement. */
  readonly edits: HeaderEdits
}

const RECEIVED: State = { at: "received" }
const ANSWERED: State = { at: "answered" }
const ABANDONED: State = { at: "abandoned" }
const OVER: State = { at: "over" }

const NO_TRAILERS: FieldPairs = []
const NO_ANSWERS: readonly Answers[] = []

/** Forwards allowed requests to the application; `upstream` is called for each request. */
export function forwardTo(upstream: () => Upstream): NewExchange {
  return (caller, responder, head) => new Exchange(caller, responder, head, upstream())
}

export class Exchange implements CallerExchange, UpstreamListener {
  readonly head: RequestHead
  readonly #caller: Caller
  readonly #responder: Responder
  readonly #upstream: Upstream
  readonly #startedAt = performance.now()
  /** The request as it is judged, now and after each change. */
  readonly #request: HttpRequest
  readonly #requestId: string
  readonly #trace: RequestTrace<RequestRecord> | undefined
  #protected: ProtectedHeaders
  #state = RECEIVED
  /** For the record: the judgement that counts, and what was transferred. */
  #admission: Admission<Judged> | undefined
  #status = 0
  #bytesReceived = 0
  #bytesSent = 0
  #failure: UpstreamFailure | undefined

  constructor(caller: Caller, responder: Responder, head: RequestHead, upstream: Upstream) {
    const { services, accepted } = caller
    const { method, host, target, headers } = head
    this.#caller = caller
    this.#responder = responder
    this.#upstream = upstream
    this.#protected = services.gate.program.protectedHeaders
    this.#trace = services.tracer?.begin(headers)
    this.#requestId = requestId(headers)
    const scheme = accepted.certificate === undefined ? "http" : "https"
    this.#request = { method, scheme, host, target, headers }
    this.head = head
  }

  get full(): boolean {
    const state = this.#state
    if (state.at === "asking") return !state.held.isEmpty
    return this.#inFlight?.call.full ?? false
  }

  get responseStarted(): boolean {
    const { at } = this.#state
    return at !== "received" && at !== "asking" && at !== "denied" && at !== "forwarded"
  }

  get over(): boolean {
    return this.#state.at === "over"
  }

  begin(): ExchangeStart {
    const { services, connection } = this.#caller
    const admission = services.gate.admit(connection, this.#request)
    this.#admission = admission
    // CUSTOM comes before DENY and ALLOW: the judgement counts only after the providers have answered.
    const rules = services.gate.toAsk(admission)
    // Fail closed: if there is no provider to query, the decision denies.
    if (rules.length === 0 || services.providers === undefined) return this.#proceed(admission, NO_ANSWERS)
    const asked = {
      connection,
      request: this.#request,
      requestId: this.#requestId,
      received: this.head.headers,
      caller: this.#caller.forwarded.caller,
    }
    const consultation = new Consultation(services.gate, services.providers, asked, (decided, answers) =>
      this.#consulted(decided, answers),
    )
    this.#become({ at: "asking", held: new HeldRequest(), consultation })
    consultation.ask(admission, rules)
    return "forwarded"
  }

  /** Forwards an allowed request, with the headers that providers add. */
  #proceed(admission: Admission<Judgement>, answers: readonly Answers[]): ExchangeStart {
    const { services, accepted } = this.#caller
    const { judgement } = admission
    if (judgement.verdict === "deny") return this.#deny(this.#caller.rejection(admission))
    const upgrade = upgradeOf(this.head, accepted.port.upgrades ?? [])
    if (isRejected(upgrade)) {
      const rejected = services.gate.denyProtocol("upgrade")
      this.#admission = rejected
      const fields = this.#caller.decisionField(rejected.decisionId)
      return this.#deny({ status: 403, body: "upgrade not allowed", fields })
    }
    const edits = withTrace(withAnswers(judgement.edits, answers), this.#trace)
    const edited = { target: judgement.target, edits }
    const { forwarded: about } = this.#caller
    const forwarded = new ForwardedRequest(this.head, edited, this.#requestId, upgrade, about, this.#protected)
    const call = this.#upstream.send(forwarded, this)
    this.#become({ at: "forwarded", call, edits })
    return "forwarded"
  }

  #consulted(admission: Admission<Judgement>, answers: readonly Answers[]): void {
    const state = this.#state
    if (state.at !== "asking") return
    this.#admission = admission
    // The protected headers of the policies that judged the request.
    this.#protected = this.#caller.services.gate.program.protectedHeaders
    this.#end(this.#proceed(admission, answers))
    state.held.replay(
      bytes => this.#inFlight?.call.content(bytes, 0, bytes.length),
      trailers => this.requestEnd(trailers),
    )
    this.flush()
    if (!this.full) this.#responder.requestWritable()
  }

  /** Finishes what `begin` leaves to the connection, for a request that was decided later. */
  #end(start: ExchangeStart): void {
    if (start === "rejected") this.reject()
    if (start !== "closed") return
    this.abort()
    this.#responder.breakOff("rejected")
  }

  reject(): void {
    if (this.#state.at === "denied" && this.#state.reply !== undefined) this.#reply(this.#state.reply)
  }

  // The request, as it arrives from the client.

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#bytesReceived += to - from
    if (this.#state.at === "asking") this.#state.held.content(bytes, from, to)
    this.#inFlight?.call.content(bytes, from, to)
  }

  requestEnd(trailers: Fields | undefined): void {
    if (this.#state.at === "asking") this.#state.held.end(trailers)
    const { call, edits } = this.#inFlight ?? {}
    if (call === undefined || edits === undefined) return
    // The current rules may differ from those under which the request began.
    const { protectedHeaders: now } = this.#caller.services.gate.program
    const keeps = (name: string): boolean =>
      keepsRequestTrailer(name, edits, this.#protected) && !now.dropsTrailer(name)
    const kept = trailers && pairsOf(trailers, keeps)
    call.finishRequest(kept ?? NO_TRAILERS)
  }

  flush(): void {
    this.#inFlight?.call.flush()
  }

  drained(): void {
    this.#inFlight?.call.resume()
  }

  // The response, as it arrives from the application.

  onInformational(response: ResponseHead): void {
    // RFC 9110 section 15.2: HTTP/1.0 has no interim responses, and `100` only goes to clients that expect it.
    if (this.head.version === "http/1.0" || (response.status === 100 && !this.head.expectsContinue)) return
    this.#responder.informational(response)
  }

  onResponse(response: ResponseHead): void {
    const state = this.#inFlight
    if (state === undefined) return
    this.#status = response.status
    removeNominated(response.headers)
    // INVARIANT: no application can claim that it has not seen a request; the caller's proxy would send the request
    // again.
    if (response.status === 503) response.headers.remove([this.#failureHeader])
    this.#become({ at: "responding", call: state.call, edits: state.edits })
    if (this.#responder.respond(response)) return
    this.#failure = "protocol"
    this.#reply(UPSTREAM_REPLIES.protocol)
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    this.#bytesSent += to - from
    this.#responder.content(bytes, from, to)
  }

  onPause(): void {
    this.#responder.flush()
    if (this.#responder.full) this.#inFlight?.call.pause()
  }

  onEnd(trailers: Fields | undefined): void {
    this.#responder.end(trailers)
  }

  onFailure(failure: UpstreamFailure): void {
    this.#failure = failure
    if (this.responseStarted) this.#responder.breakOff("failed")
    else this.#reply({ ...UPSTREAM_REPLIES[failure], fields: this.#failureFields(failure) })
  }

  onWritable(): void {
    if (!this.full) this.#responder.requestWritable()
  }

  // Other ways in which an exchange ends.

  /**
   * Judges the request again by the current policies and mode. A denied one gets the denial, or is broken off if the
   * response has begun.
   */
  judgeAgain(): void {
    const { services, accepted, connection } = this.#caller
    if (this.#inFlight === undefined || this.#admission === undefined) return
    const rejected = isRejected(upgradeOf(this.head, accepted.port.upgrades ?? []))
      ? services.gate.denyProtocol("upgrade")
      : services.gate.deniedNow(connection, this.#request, this.#admission)
    if (rejected !== undefined) this.endByChange(rejected)
  }

  endByChange(admission: Admission<Judged>): void {
    const { services } = this.#caller
    services.meters.endedByChange(this.head.version, admission.judgement.stage)
    if (this.#inFlight === undefined) return
    this.#admission = admission
    const rejection = this.responseStarted ? undefined : this.#caller.rejection(admission)
    if (rejection !== undefined) {
      this.#reply(rejection)
      return
    }
    this.abort()
    this.#responder.breakOff("rejected")
  }

  timedOut(who: "client" | "server"): void {
    this.#reply(who === "server" ? UPSTREAM_REPLIES["response-timeout"] : TOO_SLOW)
  }

  rejectContent(error: HttpError): void {
    const decisionId = newDecisionId()
    if (this.#admission !== undefined) this.#admission = { ...this.#admission, decisionId }
    this.#reply(errorReply(error, this.#caller.decisionField(decisionId)))
  }

  replyStatus(status: number): void {
    this.#status = status
  }

  abort(): void {
    this.#become(ABANDONED)
    this.finish()
  }

  finish(): void {
    this.#become(OVER)
  }

  #deny(reply: LocalReply | undefined): ExchangeStart {
    this.#become({ at: "denied", reply })
    return reply === undefined ? "closed" : "rejected"
  }

  /** Sends a reply of the proxy instead of the application's response. */
  #reply(reply: LocalReply): void {
    if (!this.#become(ANSWERED)) return
    this.#status = reply.status
    this.#responder.reply(reply)
  }

  /**
   * The only place where the state changes. Returns false if it does not: no request gets two responses, and a final
   * state stays final.
   */
  #become(next: State): boolean {
    const before = this.#state
    if (before.at === "over" || before.at === next.at) return false
    this.#state = next
    switch (next.at) {
      case "answered":
      case "abandoned":
        // The application's response is no longer needed; if it was complete or had failed, there is nothing to abort.
        if (isInFlight(before)) before.call.abort()
        if (before.at === "asking") before.consultation.stop()
        break
      case "over":
        // If the caller has the whole response, the application may finish in its own time.
        this.#record()
        break
      case "received":
      case "asking":
      case "denied":
      case "forwarded":
      case "responding":
    }
    return true
  }

  get #inFlight(): InFlight | undefined {
    return isInFlight(this.#state) ? this.#state : undefined
  }

  get #failureHeader(): string {
    return this.#caller.services.gate.program.mesh.names.failureHeader
  }

  #failureFields(failure: UpstreamFailure): FieldPairs {
    if (neverProcessed(failure)) return [[this.#failureHeader, NOT_FORWARDED]]
    return failure === "reset" ? [[this.#failureHeader, RESET]] : []
  }

  #record(): void {
    const { head } = this
    const { services, accepted } = this.#caller
    const query = head.target.indexOf("?")
    const record: RequestRecord = {
      protocol: head.version,
      judgement: this.#admission?.judgement,
      decisionId: this.#admission?.decisionId,
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

function isInFlight(state: State): state is InFlight {
  return state.at === "forwarded" || state.at === "responding"
}
