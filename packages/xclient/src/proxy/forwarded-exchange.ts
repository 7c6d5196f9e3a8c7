// SPDX-License-Identifier: Apache-2.0
// One request of a program through the forward proxy. If its route must be fetched first, the request waits; then it is
// handled like one of a captured connection.

import { type BorrowedBytes, copyOf } from "@merlon/wire"
import type { LocalReply, RequestHead, Responder } from "@merlon/wire/http"
import { type Exchange, type ExchangeStart, type Fields, HTTP_ERRORS, type HttpError } from "@merlon/wire/http"
import { CallFailure } from "../call/call-failure.js"
import { type RequestRouter, RoutedExchange } from "../http/routed-exchange.js"

/** What a request needs from its proxy. */
export interface ForwardingProxy {
  /** From the end of a request to the head of its response. */
  readonly answerMs: number
  /** Throws or rejects with a CallFailure. */
  routerFor(head: RequestHead): RequestRouter | Promise<RequestRouter>
  failed(failure: CallFailure, head: RequestHead): LocalReply
  /** Called when the request is over, whatever its outcome. */
  finished(): void
}

export class ForwardedExchange implements Exchange {
  readonly head: RequestHead
  readonly #proxy: ForwardingProxy
  readonly #responder: Responder
  #routed: RoutedExchange | undefined
  #rejection: LocalReply | undefined
  /** Content that arrived before the request was routed. */
  #early: Buffer[] = []
  #ended: { readonly trailers: Fields | undefined } | undefined
  #timer: NodeJS.Timeout | undefined
  #over = false

  constructor(proxy: ForwardingProxy, responder: Responder, head: RequestHead) {
    this.#proxy = proxy
    this.#responder = responder
    this.head = head
  }

  get responseStarted(): boolean {
    return this.#routed?.responseStarted ?? false
  }

  get over(): boolean {
    return this.#over
  }

  get full(): boolean {
    return this.#routed === undefined || this.#routed.full
  }

  begin(): ExchangeStart {
    try {
      const router = this.#proxy.routerFor(this.head)
      if (!(router instanceof Promise)) return this.#route(router).begin()
      router.then(
        found => this.#beginLate(found),
        (error: unknown) => this.#fail(CallFailure.of(error)),
      )
      return "forwarded"
    } catch (error) {
      this.#rejection = this.#proxy.failed(CallFailure.of(error), this.head)
      return "rejected"
    }
  }

  reject(): void {
    if (this.#rejection === undefined) this.#routed?.reject()
    else this.#responder.reply(this.#rejection)
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#routed === undefined) this.#early.push(copyOf(bytes, from, to))
    else this.#routed.content(bytes, from, to)
  }

  requestEnd(trailers: Fields | undefined): void {
    if (this.#routed === undefined) this.#ended = { trailers }
    else this.#routed.requestEnd(trailers)
    if (this.responseStarted) return
    const { answerMs } = this.#proxy
    this.#timer = setTimeout(() => this.#late(answerMs), answerMs)
  }

  flush(): void {
    this.#routed?.flush()
  }

  drained(): void {
    this.#routed?.drained()
  }

  rejectContent(error: HttpError): void {
    if (this.#routed === undefined) this.#fail(new CallFailure("bad-request", HTTP_ERRORS[error].text))
    else this.#routed.rejectContent(error)
  }

  timedOut(who: "client" | "server"): void {
    if (this.#routed === undefined) this.#fail(new CallFailure("too-late", "its routes did not arrive in time"))
    else this.#routed.timedOut(who)
  }

  replyStatus(status: number): void {
    this.#routed?.replyStatus(status)
  }

  abort(): void {
    this.#routed?.abort()
    this.finish()
  }

  finish(): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    this.#early = []
    this.#routed?.finish()
    this.#proxy.finished()
  }

  #route(router: RequestRouter): RoutedExchange {
    this.#routed = new RoutedExchange(router, this.#responder, this.head)
    return this.#routed
  }

  #beginLate(router: RequestRouter): void {
    if (this.#over) return
    const routed = this.#route(router)
    if (routed.begin() !== "forwarded") {
      routed.reject()
      return
    }
    for (const part of this.#early) routed.content(part, 0, part.length)
    this.#early = []
    if (this.#ended !== undefined) routed.requestEnd(this.#ended.trailers)
    routed.flush()
    if (!routed.full) this.#responder.requestWritable()
  }

  #late(answerMs: number): void {
    if (this.responseStarted) return
    this.#routed?.abort()
    this.#fail(new CallFailure("too-late", `no response within ${answerMs} ms`))
  }

  #fail(failure: CallFailure): void {
    if (!this.#over) this.#responder.reply(this.#proxy.failed(failure, this.head))
  }
}
