// SPDX-License-Identifier: Apache-2.0
// A minimal exchange: it forwards every request unchanged to one server, and the response back. It shows that both
// sides of the engine work together without policies.

import type { BorrowedBytes } from "../../sockets/borrowed-reads.js"
import type { Exchange, ExchangeStart, Responder } from "../downstream.js"
import { type Fields, pairsOf } from "../fields.js"
import type { RequestHead, ResponseHead } from "../head.js"
import type { HttpError } from "../http-error.js"
import type { LocalReply } from "../local-reply.js"
import type { OutgoingRequest } from "../outgoing-request.js"
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamListener } from "../upstream.js"

export class Relay implements Exchange, UpstreamListener {
  readonly head: RequestHead
  readonly #upstream: Upstream
  readonly #responder: Responder
  #call: UpstreamCall | undefined
  responseStarted = false
  over = false

  constructor(upstream: Upstream, responder: Responder, head: RequestHead) {
    this.#upstream = upstream
    this.#responder = responder
    this.head = head
  }

  begin(): ExchangeStart {
    if (this.head.target === "/denied") return "rejected"
    if (this.head.target === "/closed") return "closed"
    this.#call = this.#upstream.send(forwarded(this.head), this)
    return "forwarded"
  }

  get full(): boolean {
    return this.#call?.full ?? false
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#call?.content(bytes, from, to)
  }

  requestEnd(trailers: Fields | undefined): void {
    this.#call?.finishRequest(pairsOf(trailers, () => true))
  }

  flush(): void {
    this.#call?.flush()
  }

  drained(): void {
    this.#call?.resume()
  }

  reject(): void {
    this.#reply({ status: 403, body: "denied", fields: [["x-why", "test"]] })
  }

  rejectContent(error: HttpError): void {
    this.#reply({ status: 400, body: error, fields: [] })
  }

  timedOut(who: "client" | "server"): void {
    this.#reply({ status: who === "client" ? 408 : 504, body: who, fields: [] })
  }

  replyStatus(): void {
    // A relay records nothing.
  }

  abort(): void {
    this.#call?.abort()
    this.finish()
  }

  finish(): void {
    this.over = true
  }

  onInformational(head: ResponseHead): void {
    this.#responder.informational(head)
  }

  onResponse(head: ResponseHead): void {
    this.responseStarted = true
    this.#responder.respond(head)
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    this.#responder.content(bytes, from, to)
  }

  onEnd(trailers: Fields | undefined): void {
    this.#responder.end(trailers)
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.responseStarted) this.#responder.breakOff("failed")
    else this.#reply({ status: 503, body: failure, fields: [] })
  }

  onPause(): void {
    this.#responder.flush()
    if (!this.over && this.#responder.full) this.#call?.pause()
  }

  onWritable(): void {
    if (!this.full) this.#responder.requestWritable()
  }

  #reply(reply: LocalReply): void {
    this.responseStarted = true
    this.#call?.abort()
    this.#responder.reply(reply)
  }
}

const HOP = ["host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"]

function forwarded({ method, target, host, framing, upgrade, headers }: RequestHead): OutgoingRequest {
  return {
    ...{ method, target, host, scheme: "http", framing, upgrade, caller: "test", headers, takesTrailers: true },
    keeps: index => !HOP.includes(headers.name(index)),
    added: () => undefined,
  }
}
