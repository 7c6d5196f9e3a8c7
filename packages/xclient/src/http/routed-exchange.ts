// SPDX-License-Identifier: Apache-2.0
// One request of the workload and its response: routed, sent to an endpoint, and passed on in both directions as it comes. A request
// that no application has seen is sent to the next endpoint. If none answers, the program gets the reason.

import type { BorrowedBytes } from "@merlon/wire"
import type {
  Beginning,
  Exchange,
  FieldPairs,
  Fields,
  HttpFault,
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
} from "@merlon/wire/http"
import { HTTP_FAULTS, neverProcessed, pairsOf } from "@merlon/wire/http"
import type { ServiceEndpoint } from "@merlon/xds"
import { CallFailure } from "../call/call-failure.js"
import type { CallFailureCode } from "../errors.js"
import type { ObservedRequest } from "../observe/observed-request.js"
import { authorityOf } from "../routes/authority.js"
import type { Choice } from "../routes/host-routing.js"
import type { Attempt } from "./attempt.js"
import { RoutedCall, RoutedRequest, removeNominated } from "./routed-request.js"
import { SentContent } from "./sent-content.js"

/** Where requests of one connection go. */
export interface RequestRouter {
  /** What is noted of a request. */
  observe(head: RequestHead): ObservedRequest
  /** Throws a CallFailure where no route takes the request. */
  choose(call: RoutedCall): Choice
  /** The request on its way to an endpoint. Throws a CallFailure where it cannot be spoken to as its mode demands. */
  send(
    choice: Choice,
    endpoint: ServiceEndpoint,
    request: RoutedRequest,
    head: RequestHead,
    to: UpstreamListener,
    observed: ObservedRequest,
  ): UpstreamCall
  /** Begins to count the request as one that the endpoint has. */
  attempt(endpoint: ServiceEndpoint): Attempt
  /** Why the last connection to it was not made. */
  connectError(endpoint: ServiceEndpoint): string | undefined
  /** The name of a forward proxy, which requests carry on. */
  readonly via?: string
  failed(failure: CallFailure): LocalReply
}

const MAX_TRIES = 3
const NO_TRAILERS: FieldPairs = []

const FAILURES: { readonly [failure in UpstreamFailure]: { readonly code: CallFailureCode; readonly text: string } } = {
  connect: { code: "unreachable", text: "accepts no connection, or did not prove who it is" },
  "connect-timeout": { code: "unreachable", text: "took too long to connect" },
  "pending-full": { code: "too-many", text: "has too many requests waiting" },
  refused: { code: "unreachable", text: "did not take the request" },
  reset: { code: "cut-off", text: "closed the connection before it answered" },
  protocol: { code: "cut-off", text: "answered with something that is not HTTP" },
  "response-timeout": { code: "too-late", text: "took too long to answer" },
}

export class RoutedExchange implements Exchange, UpstreamListener {
  readonly head: RequestHead
  responseStarted = false
  readonly #router: RequestRouter
  readonly #responder: Responder
  readonly #observed: ObservedRequest
  readonly #request: RoutedRequest
  readonly #content = new SentContent()
  #choice: Choice | undefined
  #tries = 0
  #call: UpstreamCall | undefined
  #attempt: Attempt | undefined
  #refusal: LocalReply | undefined
  #trailers: FieldPairs | undefined
  #over = false

  constructor(router: RequestRouter, responder: Responder, head: RequestHead) {
    this.#router = router
    this.#responder = responder
    this.#observed = router.observe(head)
    this.#request = new RoutedRequest(head, this.#observed, router.via)
    this.head = head
  }

  get over(): boolean {
    return this.#over
  }

  get full(): boolean {
    return this.#call?.full ?? false
  }

  begin(): Beginning {
    try {
      this.#choice = this.#router.choose(new RoutedCall(this.head))
      this.#send()
      return "forwarded"
    } catch (error) {
      this.#refusal = this.#failed(CallFailure.of(error))
      return "refused"
    }
  }

  refuse(): void {
    if (this.#refusal !== undefined) this.#reply(this.#refusal)
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#observed.bytesReceived += to - from
    if (this.#isLeft) this.#content.add(bytes, from, to)
    this.#call?.content(bytes, from, to)
  }

  requestEnd(trailers: Fields | undefined): void {
    this.#trailers = trailers === undefined ? NO_TRAILERS : pairsOf(trailers, () => true)
    this.#call?.finishRequest(this.#trailers)
  }

  flush(): void {
    this.#call?.flush()
  }

  drained(): void {
    this.#call?.resume()
  }

  onInformational(response: ResponseHead): void {
    // RFC 9110 section 15.2: HTTP/1.0 has no such responses, and `100` only answers who asked.
    if (this.head.version === "http/1.0" || (response.status === 100 && !this.head.expectsContinue)) return
    this.#responder.informational(response)
  }

  onResponse(response: ResponseHead): void {
    this.#content.forget()
    this.#observed.responded(response)
    this.#attempt?.answered(response.status)
    removeNominated(response.headers)
    this.responseStarted = true
    if (this.#responder.respond(response)) return
    this.responseStarted = false
    this.#fail("protocol")
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    this.#observed.bytesSent += to - from
    this.#responder.content(bytes, from, to)
  }

  onPause(): void {
    this.#responder.flush()
    if (!this.#over && this.#responder.full) this.#call?.pause()
  }

  onEnd(trailers: Fields | undefined): void {
    this.#responder.end(trailers)
  }

  onWritable(): void {
    if (!this.full) this.#responder.requestWritable()
  }

  onFailure(failure: UpstreamFailure): void {
    this.#call = undefined
    if (failure === "connect" || failure === "connect-timeout") this.#attempt?.unreachable()
    if (this.responseStarted) {
      this.#observed.failed(new CallFailure("cut-off", `\`${this.#choice?.name}\` broke off its response`))
      this.#responder.breakOff("failed")
      return
    }
    if (neverProcessed(failure) && this.#content.isWhole && this.#isLeft) this.#sendAgain()
    else this.#fail(failure)
  }

  refuseContent(fault: HttpFault): void {
    const { status, text } = HTTP_FAULTS[fault]
    this.#reply({ status, body: text, fields: [] })
  }

  timedOut(who: "client" | "server"): void {
    if (who === "server") this.#fail("response-timeout")
    else this.#reply({ status: 408, body: "the request's content took too long", fields: [] })
  }

  answeredAs(status: number): void {
    this.#observed.answered(status)
  }

  abort(): void {
    this.#call?.abort()
    this.#call = undefined
    this.finish()
  }

  finish(): void {
    if (this.#over) return
    this.#over = true
    this.#content.forget()
    this.#attempt?.end()
    this.#observed.done()
  }

  get #isLeft(): boolean {
    return this.#choice !== undefined && this.#tries < Math.min(MAX_TRIES, this.#choice.endpoints.length)
  }

  #send(): void {
    const choice = this.#choice
    const endpoint = choice?.endpoints[this.#tries]
    if (choice === undefined || endpoint === undefined)
      throw new CallFailure("no-endpoint", `\`${choice?.name}\` has no endpoints`)
    this.#tries += 1
    this.#attempt?.end()
    this.#attempt = this.#router.attempt(endpoint)
    this.#call = this.#router.send(choice, endpoint, this.#request, this.head, this, this.#observed)
  }

  #sendAgain(): void {
    try {
      this.#send()
    } catch (error) {
      this.#reply(this.#failed(CallFailure.of(error)))
      return
    }
    for (const part of this.#content.parts) this.#call?.content(part, 0, part.length)
    if (this.#trailers !== undefined) this.#call?.finishRequest(this.#trailers)
    this.flush()
    this.onWritable()
  }

  #fail(failure: UpstreamFailure): void {
    const { code } = FAILURES[failure]
    const panic = this.#choice?.panic === true ? " (no endpoint is healthy)" : ""
    this.#reply(this.#failed(new CallFailure(code, `${this.#reasonOf(failure)}${panic}`)))
  }

  #reasonOf(failure: UpstreamFailure): string {
    const endpoint = this.#attempt?.endpoint
    const cause = failure === "connect" && endpoint !== undefined ? this.#router.connectError(endpoint) : undefined
    const name = `\`${this.#choice?.name}\``
    if (endpoint === undefined || cause === undefined) return `${name} ${FAILURES[failure].text}`
    return `cannot connect to ${authorityOf(endpoint.address, endpoint.port)} of ${name}: ${cause}`
  }

  #failed(failure: CallFailure): LocalReply {
    this.#observed.failed(failure)
    return this.#router.failed(failure)
  }

  #reply(reply: LocalReply): void {
    if (this.#over) return
    this.#call?.abort()
    this.#call = undefined
    this.#observed.answered(reply.status)
    this.#responder.reply(reply)
  }
}
