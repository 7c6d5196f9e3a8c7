// SPDX-License-Identifier: Apache-2.0
// Rules for every stream, whatever its content: authentication before the first message and for the whole life of the
// stream, a deadline for the first message, a rate limit, and a close that does not wait for a peer that reads nothing.

import { TokenBucket } from "@merlon/wire/limits"
import { messageOf } from "../runtime/log.js"
import type { Authenticated } from "./authenticate.js"
import type { CallUser, GrpcCall } from "./grpc/call.js"
import type { OpenStream, ServerContext } from "./server-context.js"
import type { Caller } from "./source.js"
import { exhausted, invalid, type StreamError } from "./stream-error.js"

/** The maximum of `setTimeout`; it would fire at once for a longer delay. */
const LONGEST_TIMER_MS = 2_147_483_647

export abstract class AuthenticatedStream<Request> implements OpenStream, CallUser {
  authenticated: Authenticated | undefined
  protected readonly context: ServerContext
  protected readonly call: GrpcCall
  readonly #read: (bytes: Uint8Array) => Request
  readonly #bucket: TokenBucket
  #ended = false
  #firstRequest: NodeJS.Timeout | undefined
  #destroyTimer: NodeJS.Timeout | undefined
  #proofEnds: (() => void) | undefined

  constructor(context: ServerContext, call: GrpcCall, read: (bytes: Uint8Array) => Request) {
    this.context = context
    this.call = call
    this.#read = read
    call.user = this
    const { requestBurst, requestsPerSecond } = context.limits
    this.#bucket = new TokenBucket(requestBurst, requestsPerSecond, context.now())
  }

  /** Called only for authenticated callers, and within the limits. */
  protected abstract receive(request: Request, caller: Caller): StreamError | undefined

  /** The client can receive more. */
  abstract writable(): void

  /** Called once, however the stream ended. */
  protected abstract onEnd(): void

  /** Fields of this stream for log messages. */
  protected abstract get logFields(): object

  get peerAddress(): string {
    return this.call.peer.address
  }

  protected get isOver(): boolean {
    return this.#ended
  }

  async run(): Promise<void> {
    const { call, context } = this
    const { certificate } = call.peer
    try {
      const authenticated = await context.authenticator.authenticate(call.takeAuthorization(), certificate)
      if (this.#ended) return
      if ("code" in authenticated) this.end(authenticated)
      else this.#listen(authenticated)
    } catch (error) {
      // Fail closed: credentials that could not be checked are not accepted.
      this.#failed(error)
    }
  }

  end({ code, message }: StreamError): void {
    if (this.#ended) return
    this.#dispose()
    this.context.observe.denied?.(code)
    // Ends the call with this status once pending output is sent; a client that reads nothing is cut off.
    this.call.finish(code, message)
    if (this.call.over) return
    this.#destroyTimer = setTimeout(() => this.call.destroy(), this.context.limits.drainMs)
    this.#destroyTimer.unref()
  }

  // Events of the call.

  message(bytes: Buffer): void {
    const { authenticated } = this
    if (authenticated !== undefined) this.guard(() => this.#take(bytes, authenticated.caller))
  }

  ended(): void {
    this.#dispose()
    this.call.finish("OK")
  }

  closed(): void {
    clearTimeout(this.#destroyTimer)
    this.#dispose()
  }

  /** An internal error ends this stream and no other. */
  protected guard(step: () => StreamError | undefined): void {
    try {
      const error = step()
      if (error !== undefined) this.end(error)
    } catch (error) {
      this.#failed(error)
    }
  }

  #listen(authenticated: Authenticated): void {
    this.authenticated = authenticated
    const tooMany = this.context.admit(this)
    if (tooMany !== undefined) {
      this.end(tooMany)
      return
    }
    this.#firstRequest = setTimeout(
      () => this.end({ code: "DEADLINE_EXCEEDED", message: "no request arrived on the stream" }),
      this.context.limits.firstRequestMs,
    )
    this.#proofEnds = this.#endWithProof(authenticated.caller)
    this.call.listen()
  }

  #take(bytes: Buffer, caller: Caller): StreamError | undefined {
    if (this.#ended) return undefined
    if (!this.#bucket.take(this.context.now())) return exhausted("too many requests on one stream; slow down")
    clearTimeout(this.#firstRequest)
    this.#firstRequest = undefined
    const request = this.#decoded(bytes)
    return request === undefined ? invalid("the message cannot be read") : this.receive(request, caller)
  }

  #decoded(bytes: Buffer): Request | undefined {
    try {
      return this.#read(bytes)
    } catch {
      return undefined
    }
  }

  /** Ends the stream when the credentials expire that it was opened with; the client reconnects with newer ones. */
  #endWithProof({ expiresAt }: Caller): (() => void) | undefined {
    if (expiresAt === undefined) return undefined
    let timer: NodeJS.Timeout | undefined
    const look = (): void => {
      const left = expiresAt - this.context.now()
      if (left <= 0) this.end({ code: "UNAUTHENTICATED", message: "the token has expired; reconnect with a new one" })
      else timer = setTimeout(look, Math.min(left, LONGEST_TIMER_MS)).unref()
    }
    look()
    return () => clearTimeout(timer)
  }

  #failed(error: unknown): void {
    this.context.log.error({ error: messageOf(error), ...this.logFields }, "a stream failed")
    this.end({ code: "INTERNAL", message: "the control plane failed on this stream; reconnect" })
  }

  #dispose(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#firstRequest)
    this.#proofEnds?.()
    this.context.closed(this)
    try {
      this.onEnd()
    } catch (error) {
      this.context.log.error(
        { error: messageOf(error), ...this.logFields },
        "a resource of a stream could not be closed",
      )
    }
  }
}
