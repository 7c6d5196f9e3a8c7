// SPDX-License-Identifier: Apache-2.0
// One request of the workload and its response: routed, sent to an endpoint, and streamed in both directions. Failures
// are retried as `retry-policy.ts` allows, within the timeout and the host's budget. If no endpoint answers, the
// program gets the reason.

import type { BorrowedBytes } from "@merlon/wire"
import type {
  Exchange,
  ExchangeStart,
  FieldPairs,
  Fields,
  HttpError,
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
} from "@merlon/wire/http"
import { HTTP_ERRORS, pairsOf } from "@merlon/wire/http"
import type { RetrySpec, ServiceEndpoint } from "@merlon/xds"
import type { Destination } from "../balance/destination.js"
import { CallFailure } from "../call/call-failure.js"
import type { CallFailureCode } from "../errors.js"
import type { ObservedRequest } from "../observe/observed-request.js"
import { authorityOf } from "../routes/authority.js"
import type { Choice } from "../routes/host-routing.js"
import type { Attempt } from "./attempt.js"
import { isGrpcWithoutStatus, outcomeOf } from "./response-outcome.js"
import { DEFAULT_RETRIES, isRetryable, type Outcome } from "./retry-policy.js"
import { RoutedCall, RoutedRequest, removeNominated } from "./routed-request.js"
import { SentContent } from "./sent-content.js"

/** Routes the requests of one connection. */
export interface RequestRouter {
  /** Starts the record of a request. */
  observe(head: RequestHead): ObservedRequest
  /** Throws a CallFailure if no route takes the request. */
  choose(call: RoutedCall): Choice
  /** Sends the request to an endpoint. Throws a CallFailure if the required transport is not possible. */
  send(
    choice: Choice,
    endpoint: ServiceEndpoint,
    request: RoutedRequest,
    head: RequestHead,
    to: UpstreamListener,
    observed: ObservedRequest,
  ): UpstreamCall
  /** Counts the request as outstanding at the endpoint. */
  attempt(choice: Choice, endpoint: ServiceEndpoint): Attempt
  /** The error of the last failed connection attempt to the endpoint. */
  connectError(endpoint: ServiceEndpoint): string | undefined
  /** The name of a forward proxy, which requests carry in `Via`. */
  readonly via?: string
  failed(failure: CallFailure): LocalReply
  /** The header in which a server's proxy reports why it answers in place of the application. */
  readonly failureHeader: string
}

const NOT_FORWARDED = "not-forwarded"
const RESET = "reset"
const NO_CHOICE = { retries: undefined, timeoutMs: undefined }
/** Delay before the same endpoint is tried again; it grows with each attempt. */
const BACKOFF_MS = 25
const NO_TRAILERS: FieldPairs = []

const FAILURES: { readonly [failure in UpstreamFailure]: { readonly code: CallFailureCode; readonly text: string } } = {
  connect: { code: "unreachable", text: "accepts no connection, or did not prove its identity" },
  "connect-timeout": { code: "unreachable", text: "took too long to connect" },
  "pending-full": { code: "too-many", text: "has too many requests waiting" },
  refused: { code: "unreachable", text: "rejected the request" },
  reset: { code: "cut-off", text: "closed the connection before it responded" },
  protocol: { code: "cut-off", text: "answered with something that is not HTTP" },
  "response-timeout": { code: "too-late", text: "took too long to respond" },
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
  /** The destination that counts the request as in flight. */
  #counting: Destination | undefined
  #tries = 0
  #call: UpstreamCall | undefined
  #attempt: Attempt | undefined
  #rejection: LocalReply | undefined
  /** Set once the request is complete. */
  #trailers: FieldPairs | undefined
  /** Limits the whole request. */
  #timer: NodeJS.Timeout | undefined
  /** Limits the current attempt, or delays the next one. */
  #tryTimer: NodeJS.Timeout | undefined
  #isWaiting = false
  /** The outcome depends on the trailers of the response. */
  #isJudgedAtEnd = false
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
    return this.#isWaiting || (this.#call?.full ?? false)
  }

  begin(): ExchangeStart {
    try {
      const choice = this.#router.choose(new RoutedCall(this.head))
      this.#choice = choice
      const { destination, name } = choice
      if (destination?.beginRequest() === false) throw CallFailure.overflow(name, ["http2MaxRequests"])
      this.#counting = destination
      choice.budget.deposit()
      this.#send()
      return "forwarded"
    } catch (error) {
      this.#rejection = this.#failed(CallFailure.of(error))
      return "rejected"
    }
  }

  reject(): void {
    if (this.#rejection !== undefined) this.#reply(this.#rejection)
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#observed.bytesReceived += to - from
    if (this.#isLeft) this.#content.add(bytes, from, to)
    this.#call?.content(bytes, from, to)
  }

  requestEnd(trailers: Fields | undefined): void {
    this.#trailers = trailers === undefined ? NO_TRAILERS : pairsOf(trailers, () => true)
    this.#call?.finishRequest(this.#trailers)
    const { timeoutMs } = this.#choice ?? NO_CHOICE
    if (this.responseStarted || this.#over) return
    if (timeoutMs !== undefined) this.#timer ??= setTimeout(() => this.#timeIsOver(timeoutMs), timeoutMs)
    if (!this.#isWaiting) this.#limitTry()
  }

  flush(): void {
    this.#call?.flush()
  }

  drained(): void {
    this.#call?.resume()
  }

  onInformational(response: ResponseHead): void {
    // RFC 9110 section 15.2: HTTP/1.0 has no interim responses, and `100` only goes to clients that expect it.
    if (this.head.version === "http/1.0" || (response.status === 100 && !this.head.expectsContinue)) return
    this.#responder.informational(response)
  }

  onResponse(response: ResponseHead): void {
    clearTimeout(this.#tryTimer)
    this.#attempt?.answered(response.status)
    if (this.#choice?.destination?.outliers !== undefined) this.#judge(response)
    const isLookedAt = response.status >= 400 || this.#choice?.retries !== undefined
    if (isLookedAt && this.#retry(this.#outcomeOf(response))) return
    this.#content.forget()
    this.#observed.responded(response)
    // A tunnel has no time limit.
    if (response.status === 101) clearTimeout(this.#timer)
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
    if (this.#isJudgedAtEnd) this.#attempt?.judged(outcomeOf(200, trailers))
    this.#responder.end(trailers)
  }

  onWritable(): void {
    if (!this.full) this.#responder.requestWritable()
  }

  onFailure(failure: UpstreamFailure): void {
    clearTimeout(this.#tryTimer)
    this.#call = undefined
    if (failure === "connect" || failure === "connect-timeout") this.#attempt?.unreachable()
    else if (failure === "reset" || failure === "protocol") this.#attempt?.judged("5xx")
    else if (failure === "response-timeout") this.#attempt?.judged("gateway")
    if (this.responseStarted) {
      this.#observed.failed(new CallFailure("cut-off", `\`${this.#choice?.name}\` aborted its response`))
      this.#responder.breakOff("failed")
      return
    }
    if (!this.#retry({ kind: "failure", failure })) this.#fail(failure)
  }

  rejectContent(error: HttpError): void {
    const { status, text } = HTTP_ERRORS[error]
    this.#reply({ status, body: text, fields: [] })
  }

  timedOut(who: "client" | "server"): void {
    if (who === "server") this.#fail("response-timeout")
    else this.#reply({ status: 408, body: "the request's content took too long", fields: [] })
  }

  replyStatus(status: number): void {
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
    clearTimeout(this.#timer)
    clearTimeout(this.#tryTimer)
    this.#content.forget()
    this.#attempt?.end()
    this.#counting?.endRequest()
    this.#observed.done()
  }

  #judge(response: ResponseHead): void {
    this.#isJudgedAtEnd = isGrpcWithoutStatus(response)
    if (!this.#isJudgedAtEnd) this.#attempt?.judged(outcomeOf(response.status, response.headers))
  }

  get #rules(): RetrySpec {
    return this.#choice?.retries ?? DEFAULT_RETRIES
  }

  get #isLeft(): boolean {
    return this.#tries <= this.#rules.attempts
  }

  #send(): void {
    const choice = this.#choice
    const endpoint = choice?.endpoints.at(this.#tries % choice.endpoints.length)
    if (choice === undefined || endpoint === undefined)
      throw new CallFailure("no-endpoint", `\`${choice?.name}\` has no endpoints`)
    this.#tries += 1
    this.#attempt?.end()
    this.#attempt = this.#router.attempt(choice, endpoint)
    this.#call = this.#router.send(choice, endpoint, this.#request, this.head, this, this.#observed)
  }

  #outcomeOf({ status, headers }: ResponseHead): Outcome {
    const [text] = headers.get(this.#router.failureHeader) ?? []
    const [grpcStatus] = headers.get("grpc-status") ?? []
    // Only a proxy of ours is trusted: what an application claims about itself proves nothing.
    const reason = this.#attempt?.endpoint.mtlsMode === undefined ? undefined : text
    // The connection from that proxy to its application can become stale like any other.
    if (status === 503 && reason === RESET) return { kind: "failure", failure: "reset" }
    return { kind: "response", status, notForwarded: reason === NOT_FORWARDED, grpcStatus }
  }

  /** Sends the request again, now or after a delay, if that is allowed. */
  #retry(outcome: Outcome): boolean {
    const method = this.#request.upgrade === undefined ? this.#request.method : ""
    if (this.#over || !this.#isLeft || !this.#content.isWhole) return false
    if (!isRetryable(outcome, method, this.#rules) || !this.#isWorthwhile(outcome)) return false
    if (this.#choice?.budget.withdraw() !== true) return false
    this.#call?.abort()
    this.#call = undefined
    const rounds = Math.floor(this.#tries / (this.#choice?.endpoints.length ?? 1))
    if (rounds === 0 || isStale(outcome)) this.#sendAgain()
    else this.#sendLater(BACKOFF_MS * 2 ** (rounds - 1) * (0.5 + Math.random()))
    return true
  }

  /** Without a MeshService, an unreachable endpoint is not tried twice. */
  #isWorthwhile(outcome: Outcome): boolean {
    // A limit of the whole destination applies to every endpoint.
    if (this.#isOverflow(outcome)) return false
    const { retries, endpoints } = this.#choice ?? {}
    return retries !== undefined || this.#tries < (endpoints?.length ?? 0) || isStale(outcome)
  }

  #isOverflow(outcome: Outcome): boolean {
    const isFull = outcome.kind === "failure" && outcome.failure === "pending-full"
    return isFull && this.#choice?.destination?.limits !== undefined
  }

  #sendLater(waitMs: number): void {
    this.#isWaiting = true
    this.#attempt?.end()
    this.#tryTimer = setTimeout(() => {
      this.#isWaiting = false
      // The content that arrived meanwhile may have been too large to keep.
      if (this.#content.isWhole) this.#sendAgain()
      else this.#fail("connect")
    }, waitMs)
  }

  #sendAgain(): void {
    try {
      this.#send()
    } catch (error) {
      this.#reply(this.#failed(CallFailure.of(error)))
      return
    }
    for (const part of this.#content.parts) this.#call?.content(part, 0, part.length)
    if (this.#trailers !== undefined) {
      this.#call?.finishRequest(this.#trailers)
      this.#limitTry()
    }
    this.flush()
    this.onWritable()
  }

  #limitTry(): void {
    const { perTryTimeoutMs } = this.#rules
    if (perTryTimeoutMs === undefined) return
    clearTimeout(this.#tryTimer)
    this.#tryTimer = setTimeout(() => {
      this.#attempt?.judged("gateway")
      if (!this.#retry({ kind: "too-slow" })) this.#timeOut(perTryTimeoutMs)
    }, perTryTimeoutMs)
  }

  #timeIsOver(limitMs: number): void {
    if (!this.responseStarted) this.#attempt?.judged("gateway")
    this.#timeOut(limitMs)
  }

  #timeOut(limitMs: number): void {
    const failure = new CallFailure("too-late", `\`${this.#choice?.name}\` did not respond within ${limitMs} ms`)
    const reply = this.#failed(failure)
    if (!this.responseStarted) {
      this.#reply(reply)
      return
    }
    this.#call?.abort()
    this.#call = undefined
    this.#responder.breakOff("failed")
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#isOverflow({ kind: "failure", failure })) {
      const limits = ["maxConnections", "http1MaxPendingRequests"] as const
      this.#reply(this.#failed(CallFailure.overflow(this.#choice?.name ?? "", limits)))
      return
    }
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
    clearTimeout(this.#timer)
    clearTimeout(this.#tryTimer)
    this.#isWaiting = false
    this.#call?.abort()
    this.#call = undefined
    this.#observed.answered(reply.status)
    this.#responder.reply(reply)
  }
}

/** A new connection to the same endpoint may succeed. */
function isStale(outcome: Outcome): boolean {
  return outcome.kind === "failure" && (outcome.failure === "refused" || outcome.failure === "reset")
}
