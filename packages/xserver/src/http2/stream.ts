// SPDX-License-Identifier: Apache-2.0
// One request of an HTTP/2 connection, from its headers to its record: read, judge, refuse or forward, carry the bytes.
// The stream is ours from the first header to `close`, which comes once and last, whatever happened.

import { constants, type ServerHttp2Stream } from "node:http2"
import type { HttpRequest, Judgement, Reply } from "@merlon/policy"
import { REQUEST_ID_HEADER, requestId } from "../accept/forwarded-headers.js"
import { newDecisionId } from "../enforcement/decision-id.js"
import type { Admission, Judged } from "../enforcement/gate.js"
import type { Expiring } from "../http/deadlines.js"
import { keepsRequestTrailer, requestHeadText } from "../http1/forward-request.js"
import { keepsResponseTrailer } from "../http1/forward-response.js"
import type { RequestHead } from "../http1/request-head.js"
import type { UpstreamFailure } from "../observe/meters.js"
import type {
  ApplicationCall,
  ApplicationListener,
  ApplicationResponse,
  HeaderList,
} from "./application/application.js"
import { headerObject } from "./header-object.js"
import { failureReply, faultReply, grpcReply, plainReply, type StreamReply } from "./reply.js"
import { isGrpc, readRequest, readTrailers } from "./request.js"
import type { Session } from "./session.js"

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } =
  constants

type Allowed = Extract<Judgement, { verdict: "allow" }>

export class StreamExchange implements ApplicationListener, Expiring {
  readonly #stream: ServerHttp2Stream
  readonly #session: Session
  readonly #started = performance.now()
  #head: RequestHead | undefined
  #grpc = false
  /** As it was judged, for the next time. */
  #request: HttpRequest | undefined
  #admission: Admission<Judged> | undefined
  #faultId: string | undefined
  #requestId: string | undefined
  #call: ApplicationCall | undefined
  #requestEnded: boolean
  #trailersIn: HeaderList = []
  #trailersOut: HeaderList = []
  #status = 0
  #received = 0
  #sent = 0
  #failure: UpstreamFailure | undefined
  /** The client does not take what there is for it. */
  #stalled = false
  /** Whether ending the stream early was our decision. */
  #ours = false
  deadline = 0

  constructor(stream: ServerHttp2Stream, session: Session, ended: boolean) {
    this.#stream = stream
    this.#session = session
    this.#requestEnded = ended
  }

  begin(raw: readonly string[]): void {
    const stream = this.#stream
    stream.on("error", ignore)
    // Taken back in the same breath: not worth a judgement, and the application need not hear of it.
    if (this.#gone) {
      this.#session.closed(this, true)
      return
    }
    stream.once("close", () => this.#onClose())
    stream.once("finish", () => this.#stopListening())
    const { gate, limits, accepted, meters } = this.#session
    const head = readRequest(raw, this.#requestEnded, limits)
    if (typeof head === "string") {
      if (head === "head-too-large") meters.limitHit("headerBytes")
      if (head === "too-many-headers") meters.limitHit("headerLines")
      this.#faultId = newDecisionId()
      this.#reply(this.#named(faultReply(head), this.#faultId))
      return
    }
    head.headers.scrub(gate.protectedHeaders)
    head.headers.standIns = this.#session.standIns
    this.#head = head
    this.#grpc = isGrpc(head)
    this.#requestId = requestId(head.headers.get(REQUEST_ID_HEADER))
    const { method, host, target, headers } = head
    const scheme = accepted.certificate === undefined ? "http" : "https"
    this.#request = { method, scheme, host, target, headers }
    const admission = gate.admit(accepted.connection, this.#request)
    this.#admission = admission
    const { judgement, decisionId } = admission
    if (judgement.verdict === "allow") {
      this.#forward(head, judgement, this.#requestId)
    } else if (judgement.reply === undefined) {
      // The mode no longer takes this connection. The client may try again on another one, with a certificate.
      this.#reset(NGHTTP2_REFUSED_STREAM)
      this.#session.drain()
    } else {
      this.#refuse(judgement.reply, decisionId)
    }
  }

  judgeAgain(): void {
    const { gate, accepted } = this.#session
    if (this.#call === undefined || this.#request === undefined || this.#admission === undefined) return
    const refused = gate.refusedNow(accepted.connection, this.#request, this.#admission)
    if (refused !== undefined) this.endByChange(refused)
  }

  endByChange(admission: Admission<Judged>): void {
    const { judgement, decisionId } = admission
    this.#session.meters.endedByChange("h2", judgement.stage)
    this.#admission = admission
    this.#call?.abort()
    this.#letGo()
    const reply = "reply" in judgement ? judgement.reply : undefined
    if (this.#stream.headersSent || reply === undefined) this.#reset(NGHTTP2_CANCEL)
    else this.#refuse(reply, decisionId)
  }

  onInformational(status: number, headers: HeaderList): void {
    if (!this.#stream.headersSent && !this.#gone) {
      this.#stream.additionalHeaders(headerObject([[":status", String(status)], ...headers]))
    }
  }

  onResponse({ status, headers, ended, trailers }: ApplicationResponse): void {
    const stream = this.#stream
    if (this.#gone || stream.headersSent) return
    const list = status === 204 ? headers.filter(([name]) => name !== "content-length") : headers
    // RFC 9110 sections 9.3.2 and 15: these have no content, whatever the headers say.
    const empty = ended || this.#head?.method === "HEAD" || status === 204 || status === 304
    // The date is the application's to give; the option is documented, but the types do not know it.
    const options = { endStream: empty, waitForTrailers: trailers && !empty, sendDate: false }
    try {
      stream.respond(headerObject([[":status", String(status)], ...list]), options)
    } catch {
      // Headers that HTTP/2 has no room for. Fail closed: a response cut down to what fits would be another one.
      this.#call?.abort()
      this.onFailure("protocol")
      return
    }
    this.#status = status
    stream.once("wantTrailers", () => {
      if (!this.#gone) stream.sendTrailers(headerObject(this.#trailersOut))
    })
    this.#touch()
  }

  onContent(bytes: Buffer): void {
    if (this.#gone || this.#stream.writableEnded) return
    this.#sent += bytes.length
    if (!this.#stream.write(bytes)) {
      this.#call?.pause()
      this.#stall()
    } else {
      this.#touch()
    }
  }

  onEnd(trailers: HeaderList): void {
    this.#trailersOut = trailers.filter(([name]) => keepsResponseTrailer(name))
    this.#letGo()
    if (this.#gone) return
    this.#stream.end()
    // What is left waits for the client alone.
    this.#stall()
  }

  onFailure(failure: UpstreamFailure): void {
    this.#failure = failure
    this.#letGo()
    if (this.#stream.headersSent) this.#reset(NGHTTP2_INTERNAL_ERROR)
    else this.#reply(failureReply(failure))
  }

  onWritable(): void {
    this.#stream.resume()
  }

  expire(): void {
    this.#session.meters.limitHit(this.#grpc && !this.#stalled ? "tunnelIdleTimeoutMs" : "bodyIdleTimeoutMs")
    this.#call?.abort()
    this.#letGo()
    if (this.#stream.headersSent) this.#reset(NGHTTP2_CANCEL)
    else this.#reply({ status: 408, body: "request timeout", headers: [] })
  }

  #forward(head: RequestHead, { target, edits }: Allowed, id: string): void {
    const stream = this.#stream
    const { application, forwarded, deadlines, gate } = this.#session
    const { protectedHeaders } = gate
    const text = requestHeadText({ head, target, edits, requestId: id, upgrade: undefined }, forwarded)
    const { framing } = head
    const body = this.#requestEnded ? "none" : framing.kind === "chunked" ? "chunked" : "length"
    const call = application.send({ method: head.method, head: text, body }, this)
    this.#call = call
    deadlines.watch(this)
    this.#touch()
    stream.on("drain", () => {
      this.#stalled = false
      this.#touch()
      call.resume()
    })
    if (this.#requestEnded) return
    stream.on("trailers", (_, __, raw?: readonly string[]) => {
      this.#trailersIn = readTrailers(raw ?? []).filter(([name]) => keepsRequestTrailer(name, edits, protectedHeaders))
    })
    stream.on("data", (chunk: Buffer) => {
      this.#received += chunk.length
      if (this.#call === undefined) return
      if (framing.kind === "length" && this.#received > framing.length) {
        // INVARIANT: nghttp2 has counted already. Fail closed: the rest would be the next request on the connection.
        call.abort()
        this.#letGo()
        this.#reset(NGHTTP2_PROTOCOL_ERROR)
        return
      }
      if (!this.#stalled) this.#touch()
      if (!call.write(chunk)) stream.pause()
    })
    stream.once("end", () => {
      this.#requestEnded = true
      if (!this.#stalled) this.#touch()
      // A stream that was reset ends too, but what it carried is not a whole request: `close` gives it up.
      if (!stream.closed && this.#call !== undefined) call.end(this.#trailersIn)
    })
  }

  /**
   * The application has nothing more to do with it. A stream with content is never closed before that is read to its
   * end. One without must not be: Node would destroy it under its last write, and make an error of that for nobody.
   */
  #letGo(): void {
    this.#call = undefined
    if (!this.#requestEnded) this.#stream.resume()
  }

  #refuse({ status, body, challenge }: Reply, decisionId: string | undefined): void {
    const headers: HeaderList = challenge === undefined ? [] : [["www-authenticate", challenge]]
    this.#reply(this.#named({ status, body, headers }, decisionId))
  }

  #named(reply: StreamReply, decisionId: string | undefined): StreamReply {
    const { decisionHeader } = this.#session.gate.program.mesh.names
    return decisionId === undefined ? reply : { ...reply, headers: [...reply.headers, [decisionHeader, decisionId]] }
  }

  #reply(reply: StreamReply): void {
    const stream = this.#stream
    if (this.#gone || stream.headersSent) return
    const bodiless = this.#grpc || reply.body === "" || this.#head?.method === "HEAD"
    const headers = headerObject(this.#grpc ? grpcReply(reply) : plainReply(reply))
    this.#status = this.#grpc ? 200 : reply.status
    this.#ours = true
    if (!bodiless) this.#sent += Buffer.byteLength(reply.body)
    stream.respond(headers, { endStream: bodiless })
    if (!bodiless) stream.end(reply.body)
  }

  // RFC 9113 section 8.1: the answer is complete, and the rest of the request is of no interest.
  #stopListening(): void {
    if (!this.#requestEnded && !this.#gone) this.#stream.close(NGHTTP2_NO_ERROR)
  }

  #reset(code: number): void {
    this.#ours = true
    if (!this.#gone) this.#stream.close(code)
  }

  /** Nothing can be said on the stream any more, though its `close` may be yet to come. */
  get #gone(): boolean {
    return this.#stream.closed || this.#stream.destroyed
  }

  #stall(): void {
    if (this.#stalled) return
    this.#stalled = true
    this.deadline = this.#session.deadlines.after(this.#session.limits.bodyIdleTimeoutMs)
  }

  /** A byte has moved, or the one to wait for has changed. Who only waits for the application is not hurried. */
  #touch(): void {
    const { deadlines, limits } = this.#session
    if (this.#grpc) this.deadline = deadlines.after(limits.tunnelIdleTimeoutMs)
    else this.deadline = this.#requestEnded ? 0 : deadlines.after(limits.bodyIdleTimeoutMs)
  }

  #onClose(): void {
    const { rstCode } = this.#stream
    this.#session.deadlines.unwatch(this)
    this.#call?.abort()
    const cancelled = rstCode !== undefined && rstCode !== NGHTTP2_NO_ERROR && !this.#ours
    this.#report()
    this.#session.closed(this, cancelled)
  }

  #report(): void {
    const { accepted, meters } = this.#session
    const { connection, port } = accepted
    const target = this.#head?.target ?? ""
    meters.requestDone({
      protocol: "h2",
      judgement: this.#admission?.judgement,
      decisionId: this.#faultId ?? this.#admission?.decisionId,
      requestId: this.#requestId,
      method: this.#head?.method ?? "",
      host: this.#head?.host ?? "",
      path: target.split("?", 1)[0] ?? "",
      status: this.#status,
      bytesReceived: this.#received,
      bytesSent: this.#sent,
      durationMs: performance.now() - this.#started,
      peer: connection.peer?.uri,
      source: connection.sourceIp.text,
      port: port.port,
      upstreamFailure: this.#failure,
    })
  }
}

function ignore(): void {}
