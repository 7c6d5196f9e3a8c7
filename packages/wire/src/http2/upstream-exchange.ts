// SPDX-License-Identifier: Apache-2.0
// One request over HTTP/2. It is retried once if the server reports that it has not processed it (RFC 9113 section 8.7)
// and no part of a body was sent.

import { type Deadlines, type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { FieldPairs, Fields } from "../http/fields.js"
import { hasContent } from "../http/framing.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import type {
  UpstreamCall,
  UpstreamFailure,
  UpstreamLimits,
  UpstreamListener,
  UpstreamObserver,
} from "../http/upstream.js"
import type { Quota } from "../limits/quota.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { ByteQueue } from "../sockets/byte-queue.js"
import type { Field } from "./field.js"
import { ERROR } from "./frame.js"
import type { ListError } from "./hpack/decoder.js"
import { readTrailers, writeRequestHead } from "./request-head.js"
import type { Stream, StreamUser } from "./stream.js"
import { isSwitched, switchedHead, tunnelProtocol } from "./tunnel.js"
import type { UpstreamConnection } from "./upstream-connection.js"

export interface ExchangeOptions {
  readonly limits: UpstreamLimits
  readonly observer: UpstreamObserver
  readonly deadlines: Deadlines
  readonly shares: Quota
  /** One with room for another stream; undefined where there is none and may be none. */
  connection(): UpstreamConnection | undefined
  /** Whether the exchange may wait for one. Then the pool places it, unless it is forgotten. */
  waits(exchange: UpstreamExchange): boolean
  forget(exchange: UpstreamExchange): void
  /** Whether it is sent again, once, where the server rejects it. */
  readonly retries?: boolean
}

/** Of what came early, written at once. */
const MAX_PART = 64 * 1024
/** For the end of a stream whose response was over with its head. */
const LINGER_MS = 1_000

export class UpstreamExchange implements UpstreamCall, StreamUser, Expiring {
  readonly #options: ExchangeOptions
  readonly #request: OutgoingRequest
  readonly #listener: UpstreamListener
  #connection: UpstreamConnection | undefined
  #stream: Stream | undefined
  #trailers: Fields | undefined
  /** What the connection is to be switched to, where the caller wants that and the server can. */
  #tunnel: string | undefined
  #switched = false
  /** Came before there was a connection, or before the server had said whether it can. */
  #early: ByteQueue | undefined
  /** Of a request that was complete by then. */
  #earlyEnd: FieldPairs | undefined
  #responded = false
  /** The listener has all it gets. */
  #told = false
  #over = false
  #retried = false
  /** Counts as one that its caller has in flight. */
  readonly #placed: boolean
  #paused = false
  /** Told to the listener, and not to be asked for again while it pauses. */
  #held = 0
  deadline = 0
  place = UNWATCHED

  constructor(options: ExchangeOptions, request: OutgoingRequest, listener: UpstreamListener) {
    this.#options = options
    this.#request = request
    this.#listener = listener
    const { shares, observer } = options
    this.#placed = shares.take(request.caller)
    if (this.#placed) {
      this.#open()
      return
    }
    observer.limitHit?.("callerSharePercent")
    // Not now: the sender does not hold the call yet.
    process.nextTick(() => this.fail("pending-full"))
  }

  // Called by the forwarding side.

  content(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#early !== undefined) this.#early.add(bytes, from, to)
    else this.#stream?.sendContent(bytes, from, to)
  }

  finishRequest(trailers: FieldPairs): void {
    if (this.#early !== undefined && this.#request.upgrade === undefined) {
      this.#earlyEnd = trailers
      return
    }
    // Of a request for a tunnel the head is all there is; after the switch, this is the caller's end of it.
    const ends = this.#tunnel === undefined ? hasContent(this.#request.framing) : this.#switched
    if (ends) this.#stream?.sendEnd(trailers.length === 0 ? undefined : trailers)
    // The end of a connection is nothing that came together with more.
    if (this.#switched) this.flush()
    this.#awaitResponse()
  }

  flush(): void {
    this.#connection?.flushSoon()
  }

  get full(): boolean {
    return !this.#over && (this.#early !== undefined || (this.#stream?.full ?? false))
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    const held = this.#held
    this.#held = 0
    if (held === 0) return
    this.#stream?.consumed(held)
    this.#connection?.flushSoon()
  }

  abort(): void {
    if (!this.#finish()) return
    this.#stream?.reset(ERROR.cancel)
    this.#connection?.flushSoon()
  }

  /** The server has not begun to answer in time, or not ended what it has answered. */
  expire(): void {
    if (!this.#told) this.#options.observer.limitHit?.("responseTimeoutMs")
    const failed = this.#finish()
    this.#stream?.reset(ERROR.cancel)
    this.#connection?.flushSoon()
    if (failed) this.#failed("response-timeout")
  }

  // From the stream.

  onFields(list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    const connection = this.#connection
    if (this.#over || connection === undefined) return
    if (this.#responded) {
      const trailers = ended ? (error ?? readTrailers(list)) : "bad-trailer"
      if (typeof trailers === "string") this.#malformed()
      else this.#trailers = trailers
      return
    }
    const head = error ?? connection.heads.read(list, this.#request.method, ended)
    if (typeof head === "string" || (head.status < 200 && (ended || head.status === 101))) {
      this.#malformed()
      return
    }
    if (head.status < 200) {
      this.#listener.onInformational(head)
      return
    }
    this.#responded = true
    this.#options.deadlines.unwatch(this)
    if (this.#tunnel !== undefined && isSwitched(head)) {
      this.#switched = true
      this.#listener.onResponse(switchedHead(head, this.#request, this.#tunnel))
      return
    }
    if (this.#stream !== undefined && head.framing.kind !== "chunked") {
      this.#stream.expected = head.framing.kind === "length" ? head.framing.length : 0
    }
    this.#listener.onResponse(head)
    if (!ended && head.framing.kind === "none") this.#endsWithHead()
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#over) return
    // RFC 9113 section 8.1: content before its head.
    if (!this.#responded) {
      this.#malformed()
      return
    }
    this.#listener.onContent(bytes, from, to)
    if (this.#paused) this.#held += to - from
    else this.#stream?.consumed(to - from)
  }

  onEnd(): void {
    if (!this.#responded) this.#malformed()
    else if (this.#finish()) this.#tellEnd()
  }

  onReset(code: number): void {
    if (this.#over) return
    const nothingSent = !hasContent(this.#request.framing) && this.#tunnel === undefined
    const mayRetry = this.#options.retries !== false && !this.#retried && !this.#responded && nothingSent
    if (code === ERROR.refused && mayRetry) {
      this.#retried = true
      this.#open()
      this.flush()
      return
    }
    this.#lost(code)
  }

  #lost(code: number): void {
    const { connected, timedOut } = this.#connection ?? {}
    if (connected !== true) this.fail(timedOut === true ? "connect-timeout" : "connect")
    else if (this.#responded) this.fail("reset")
    else this.fail(code === ERROR.refused ? "refused" : code === ERROR.protocol ? "protocol" : "reset")
  }

  onSent(): void {
    // The response may still come.
  }

  onOver(): void {
    // `onEnd` or `onReset` says how.
  }

  onWritable(): void {
    if (!this.#over && !this.#told) this.#listener.onWritable()
  }

  onPause(): void {
    if (!this.#over && !this.#told) this.#listener.onPause()
  }

  // For the pool.

  /** It has waited long enough: there is room. */
  placeOn(connection: UpstreamConnection): void {
    this.#use(connection)
    connection.flushSoon()
    this.#listener.onWritable()
  }

  fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#failed(failure)
  }

  #open(): void {
    const connection = this.#options.connection()
    this.#connection = undefined
    if (connection !== undefined) this.#use(connection)
    else if (this.#options.waits(this)) this.#early ??= new ByteQueue()
    else {
      this.#options.observer.limitHit?.("pendingRequests")
      // Not now: the sender does not hold the call yet.
      process.nextTick(() => this.fail("pending-full"))
    }
  }

  #use(connection: UpstreamConnection): void {
    this.#connection = connection
    if (this.#request.upgrade === undefined) {
      this.#sendEarly(this.#begin(connection))
      const end = this.#earlyEnd
      this.#earlyEnd = undefined
      if (end !== undefined) this.finishRequest(end)
      return
    }
    // RFC 8441 section 3: a client must not ask for a tunnel before the server has announced support.
    if (!connection.awaited) this.#beginTunnel(connection)
    else {
      this.#early ??= new ByteQueue()
      connection.whenSettled(() => this.#beginTunnel(connection))
    }
  }

  #begin(connection: UpstreamConnection): Stream {
    const stream = connection.begin(this)
    this.#stream = stream
    writeRequestHead(connection.encoder, this.#request, this.#tunnel)
    stream.sendHeaders(connection.encoder.finish(), !hasContent(this.#request.framing) && this.#tunnel === undefined)
    // Of a request for another protocol the head is all there is.
    if (this.#request.upgrade !== undefined) this.#awaitResponse()
    return stream
  }

  /** RFC 9110 section 7.8: who cannot switch may answer the request as it is. */
  #beginTunnel(connection: UpstreamConnection): void {
    if (this.#over) return
    if (connection.failed) {
      this.#lost(ERROR.internal)
      return
    }
    if (!connection.hasRoom) {
      this.#open()
      return
    }
    if (connection.peerSettings.connectProtocol) this.#tunnel = tunnelProtocol(this.#request)
    if (!this.#sendEarly(this.#begin(connection))) return
    connection.flushSoon()
    this.#listener.onWritable()
  }

  /** Whether the sender was waiting. */
  #sendEarly(stream: Stream): boolean {
    const early = this.#early
    this.#early = undefined
    if (early === undefined) return false
    for (let part = early.take(MAX_PART); part !== undefined; part = early.take(MAX_PART)) {
      stream.sendContent(part, 0, part.length)
    }
    return true
  }

  #awaitResponse(): void {
    const { deadlines, limits } = this.#options
    if (limits.responseTimeoutMs === 0 || this.#responded || this.#over) return
    this.deadline = deadlines.after(limits.responseTimeoutMs)
    deadlines.watch(this)
  }

  /**
   * A response that has no content is whole, also where its head does not end the stream: the caller waits for nothing, and
   * the server is not waited for without bound, whose stream and whose caller's share that would hold for good.
   */
  #endsWithHead(): void {
    if (this.#over) return
    this.#tellEnd()
    if (this.#stream?.over === true) {
      this.#finish()
      return
    }
    const { deadlines } = this.#options
    this.deadline = deadlines.after(LINGER_MS)
    deadlines.watch(this)
  }

  #tellEnd(): void {
    if (this.#told) return
    this.#told = true
    this.#listener.onEnd(this.#trailers)
    // The rest of the request is of no interest to the server, and the stream would wait for it.
    if (this.#stream?.localEnded === false) this.#stream.reset(ERROR.none)
  }

  #malformed(): void {
    if (!this.#finish()) return
    this.#stream?.reset(ERROR.protocol)
    this.#connection?.flushSoon()
    this.#failed("protocol")
  }

  #failed(failure: UpstreamFailure): void {
    if (!this.#told) this.#listener.onFailure(failure)
  }

  /** Whether it was not over before. */
  #finish(): boolean {
    if (this.#over) return false
    this.#over = true
    if (this.#connection === undefined) this.#options.forget(this)
    if (this.#placed) this.#options.shares.release(this.#request.caller)
    this.#options.deadlines.unwatch(this)
    return true
  }
}
