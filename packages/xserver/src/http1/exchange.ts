// SPDX-License-Identifier: Apache-2.0
// One request of a client and its response: judged, then forwarded in both directions as it comes, or answered here.
// Knows messages; the connection that carries them knows sockets, order and time.

import type { HttpRequest } from "@merlon/policy"
import { requestId } from "../accept/forwarded-headers.js"
import { newDecisionId } from "../enforcement/decision-id.js"
import type { Admission, Judged } from "../enforcement/gate.js"
import type { ProtectedHeaders } from "../enforcement/protected-headers.js"
import { HTTP_FAULTS, type HttpFault } from "../http/fault.js"
import { FIELD_KIND } from "../http/field-kind.js"
import type { Framing } from "../http/framing.js"
import { type LocalReply, localReplyText, UPSTREAM_REPLIES } from "../http/local-reply.js"
import type { RequestRecord, UpstreamFailure } from "../observe/meters.js"
import { chunkStart, lastChunk, trailerLines } from "./chunk.js"
import type { Downstream } from "./downstream.js"
import { type HeaderEdits, keepsRequestTrailer, nominatedNames, requestHeadText } from "./forward-request.js"
import { connectionLine, framingFor, keepsResponseTrailer, responseHeadText } from "./forward-response.js"
import type { HeaderBlock } from "./header-block.js"
import type { RequestHead } from "./request-head.js"
import type { ResponseHead } from "./response-head.js"
import { isRefused, upgradeOf } from "./upgrade.js"
import type { UpstreamCall, UpstreamListener } from "./upstream-exchange.js"

/** `forwarded` to the application, `refused` with a reply yet to be written, `closed` without one. */
export type Beginning = "forwarded" | "refused" | "closed"

const NO_EDITS: HeaderEdits = { removeHeaders: [], setHeaders: [], cookie: undefined }

export class Exchange implements UpstreamListener {
  readonly head: RequestHead
  readonly #downstream: Downstream
  readonly #startedAt = performance.now()
  #admission: Admission<Judged> | undefined
  /** As it was judged, for the next time. */
  #request: HttpRequest | undefined
  #refusal: LocalReply | undefined
  #decisionId: string | undefined
  #edits = NO_EDITS
  readonly #protected: ProtectedHeaders
  #requestId: string | undefined
  #call: UpstreamCall | undefined
  #requestDone = false
  #responseStarted = false
  #framing: Framing["kind"] = "none"
  #keepAlive = false
  #status = 0
  #bytesReceived = 0
  #bytesSent = 0
  #failure: UpstreamFailure | undefined
  #over = false

  constructor(downstream: Downstream, head: RequestHead) {
    this.#downstream = downstream
    this.head = head
    this.#protected = downstream.services.gate.protectedHeaders
  }

  get requestDone(): boolean {
    return this.#requestDone
  }

  get responseStarted(): boolean {
    return this.#responseStarted
  }

  /** Whether more of the request must wait. */
  get full(): boolean {
    return this.#call?.full ?? false
  }

  begin(): Beginning {
    const { head } = this
    const { services, accepted, forwarded, standIns } = this.#downstream
    head.headers.scrub(this.#protected)
    const nominated = nominatedNames(head.headers)
    // What a rule reads under the gate's own names is what the application will read there.
    head.headers.standIns = standIns
    const scheme = accepted.certificate === undefined ? "http" : "https"
    const { method, host, target: asked, headers } = head
    const request: HttpRequest = { method, scheme, host, target: asked, headers, nominated }
    this.#request = request
    const admission = services.gate.admit(accepted.connection, request)
    const { judgement } = admission
    this.#admission = admission
    if (judgement.verdict === "deny") {
      this.#refusal = this.#refusalOf(admission)
      return this.#refusal === undefined ? "closed" : "refused"
    }
    const upstream = services.upstreamFor(accepted.port)
    const upgrade = upstream.upgrades ? upgradeOf(head, accepted.port.upgrades ?? []) : undefined
    if (isRefused(upgrade)) {
      this.#admission = services.gate.refuseProtocol("upgrade")
      const lines = this.#downstream.decisionLine(this.#admission.decisionId)
      this.#refusal = { status: 403, body: "upgrade not allowed", lines }
      return "refused"
    }
    this.#edits = judgement.edits
    this.#requestId = requestId(head.headers.has(FIELD_KIND.requestId) ? head.headers.get("x-request-id") : undefined)
    const { target, edits } = judgement
    const text = requestHeadText({ head, target, edits, requestId: this.#requestId, upgrade, nominated }, forwarded)
    const chunked = head.framing.kind === "chunked"
    const hasBody = chunked || (head.framing.kind === "length" && head.framing.length > 0)
    this.#call = upstream.send(
      { method: head.method, head: text, hasBody, chunked, upgrade: upgrade !== undefined },
      this,
    )
    return "forwarded"
  }

  // The request, as the client sends it.

  content(bytes: Buffer, from: number, to: number, shared: boolean): void {
    this.#bytesReceived += to - from
    this.#call?.content(bytes, from, to, shared)
  }

  requestEnd(trailers: HeaderBlock | undefined): void {
    this.#requestDone = true
    this.#call?.finishRequest(
      trailers === undefined
        ? ""
        : trailerLines(trailers, name => keepsRequestTrailer(name, this.#edits, this.#protected)),
    )
  }

  /** All that came at once has been told. */
  flush(): void {
    this.#call?.flush()
  }

  /** After an upgrade: the client has said all it wants to. */
  tunnelEnd(): void {
    this.#requestDone = true
    this.#call?.finishRequest("")
    if (this.#framing === "none") this.#tunnelOver()
  }

  // The response, as the application sends it.

  onInformational(response: ResponseHead): void {
    // RFC 9110 section 15.2: HTTP/1.0 has no such responses, and `100` only answers who asked.
    if (this.head.minorVersion === 0 || (response.status === 100 && !this.head.expectsContinue)) return
    this.#downstream.outbox.text(responseHeadText(response, this.head, "none", ""))
  }

  onResponse(response: ResponseHead): void {
    const downstream = this.#downstream
    this.#status = response.status
    this.#responseStarted = true
    if (response.status === 101) {
      this.#framing = "close"
      // From here on the client sends again, until it ends its side.
      this.#requestDone = false
      downstream.outbox.text(responseHeadText(response, this.head, "none", "connection: upgrade\r\n"))
      downstream.beginTunnel()
      return
    }
    this.#framing = framingFor(response, this.head)
    // Where the client still sends, it cannot know when to begin its next request; so there is none.
    this.#keepAlive = this.head.keepAlive && this.#requestDone && downstream.mayGoOn && this.#framing !== "close"
    const connection = connectionLine(this.#keepAlive, this.head.minorVersion)
    downstream.outbox.text(responseHeadText(response, this.head, this.#framing, connection))
    downstream.touch()
  }

  onContent(bytes: Buffer, from: number, to: number): void {
    const { outbox } = this.#downstream
    this.#bytesSent += to - from
    if (this.#framing === "chunked") {
      outbox.text(chunkStart(to - from))
      outbox.bytes(bytes, from, to, true)
      outbox.text("\r\n")
    } else {
      outbox.bytes(bytes, from, to, true)
    }
    this.#downstream.touch()
  }

  onPause(): void {
    if (this.#over) return
    const { outbox } = this.#downstream
    outbox.flush()
    if (outbox.full) this.#call?.pause()
  }

  onEnd(trailers: HeaderBlock | undefined): void {
    const { outbox } = this.#downstream
    if (this.#status === 101) {
      this.#framing = "none"
      this.#downstream.endTunnel()
      if (this.#requestDone) this.#tunnelOver()
      return
    }
    if (this.#framing === "chunked") outbox.text(lastChunk(trailerLines(trailers, keepsResponseTrailer)))
    outbox.flush()
    this.#finish()
    this.#downstream.exchangeOver(this.#keepAlive && this.#requestDone)
  }

  onFailure(failure: UpstreamFailure): void {
    this.#call = undefined
    this.#failure = failure
    if (this.#responseStarted) {
      // Half a response must not look like a whole one: it goes as far as it came, and breaks off.
      this.#downstream.outbox.flush()
      this.#finish()
      this.#downstream.destroy()
      return
    }
    this.reply(UPSTREAM_REPLIES[failure])
  }

  onWritable(): void {
    if (!this.full) this.#downstream.resumeReading()
  }

  /** The client has taken what was waiting. */
  drained(): void {
    this.#call?.resume()
  }

  // Other ways to end.

  /** By the policies and the mode in force. Where they refuse it, it is answered so, or broken off if it is too late. */
  judgeAgain(): void {
    const { services, accepted } = this.#downstream
    if (this.#call === undefined || this.#request === undefined || this.#admission === undefined) return
    const refused = services.gate.refusedNow(accepted.connection, this.#request, this.#admission)
    if (refused !== undefined) this.endByChange(refused)
  }

  endByChange(admission: Admission<Judged>): void {
    const { services } = this.#downstream
    services.meters.endedByChange(this.#protocol, admission.judgement.stage)
    this.#admission = admission
    const refusal = this.#responseStarted ? undefined : this.#refusalOf(admission)
    if (refusal !== undefined) {
      this.reply(refusal)
      return
    }
    this.abort()
    this.#downstream.destroy()
  }

  /** Writes the refusal that `begin` found. */
  refuse(): void {
    if (this.#refusal !== undefined) this.reply(this.#refusal)
  }

  /** Answers here, instead of the application. */
  reply(reply: LocalReply): void {
    const downstream = this.#downstream
    this.#call?.abort()
    this.#call = undefined
    this.#status = reply.status
    const keepAlive = this.head.keepAlive && downstream.mayGoOn && downstream.canFinishRequest
    const connection = connectionLine(keepAlive, this.head.minorVersion)
    downstream.outbox.text(localReplyText(reply, this.head.method, connection))
    downstream.outbox.flush()
    this.#finish()
    downstream.exchangeOver(keepAlive)
  }

  /** The client's connection has gone, or must go. */
  abort(): void {
    this.#call?.abort()
    this.#call = undefined
    this.#finish()
  }

  /** For a request that is answered here and has been read to its end. */
  markRequestDone(): void {
    this.#requestDone = true
  }

  /** The content turned out to be malformed on the way. */
  refuseContent(fault: HttpFault): void {
    const { status, text } = HTTP_FAULTS[fault]
    this.#decisionId = newDecisionId()
    this.reply({ status, body: text, lines: this.#downstream.decisionLine(this.#decisionId) })
  }

  /** What the caller is answered; undefined where it is told nothing. */
  #refusalOf({ judgement, decisionId }: Admission<Judged>): LocalReply | undefined {
    if (!("reply" in judgement) || judgement.reply === undefined) return undefined
    const { status, body, challenge } = judgement.reply
    const asked = challenge === undefined ? "" : `www-authenticate: ${challenge}\r\n`
    return { status, body, lines: this.#downstream.decisionLine(decisionId) + asked }
  }

  get #protocol(): RequestRecord["protocol"] {
    return this.head.minorVersion === 1 ? "http/1.1" : "http/1.0"
  }

  #tunnelOver(): void {
    this.#finish()
    this.#downstream.exchangeOver(false)
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    const { services, accepted } = this.#downstream
    const { head } = this
    const query = head.target.indexOf("?")
    services.meters.requestDone({
      protocol: this.#protocol,
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
    })
  }
}
