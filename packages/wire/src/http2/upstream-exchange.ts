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
  /** A connection with room for another stream; undefined if there is none and none may be opened. */
  connection(): UpstreamConnection | undefined
  /** Whether the exchange may wait for a connection. If so, the pool places it later, unless it is forgotten. */
  waits(exchange: UpstreamExchange): boolean
  forget(exchange: UpstreamExchange): void
  /** Whether the request is retried, once, if the server has not processed it. */
  readonly retries?: boolean
}

/** Size of the pieces in which early bytes are written. */
const MAX_PART = 64 * 1024
/** How long to wait for the end of a stream whose response ended with its head. */
const LINGER_MS = 1_000

export class UpstreamExchange implements UpstreamCall, StreamUser, Expiring {
  readonly #options: ExchangeOptions
  readonly #request: OutgoingRequest
  readonly #listener: UpstreamListener
  #connection: UpstreamConnection | undefined
  #stream: Stream | undefined
  #trailers: Fields | undefined
  /** The protocol to switch to, if the caller asks for one and the server supports it. */
  #tunnel: string | undefined
  #switched = false
  /** Bytes that arrived before there was a connection, or before it was known whether the server supports tunnels. */
  #early: ByteQueue | undefined
  /** The trailers of a request that was complete by then. */
  #earlyEnd: FieldPairs | undefined
  #responded = false
  /** The listener has received its last event. */
  #told = false
  #over = false
  #retried = false
  /** Whether it counts towards its caller's requests in flight. */
  readonly #placed: boolean
  #paused = false
  /** Bytes delivered to the listener, but not returned to the window while it pauses. */
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
    // Not synchronously: the sender does not hold the call yet.
    process.nextTick(() => this.fail("pending-full"))
  }

  // Calls of the forwarder.

  content(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#early !== undefined) this.#early.add(bytes, from, to)
    else this.#stream?.sendContent(bytes, from, to)
  }

  finishRequest(trailers: FieldPairs): void {
    if (this.#early !== undefined && this.#request.upgrade === undefined) {
      this.#earlyEnd = trailers
      return
    }
    // A request for a tunnel consists only of its head; after the switch, this ends the caller's side.
    const ends = this.#tunnel === undefined ? hasContent(this.#request.framing) : this.#switched
    if (ends) this.#stream?.sendEnd(trailers.length === 0 ? undefined : trailers)
    // Nothing else will follow to be sent together with the end of a tunnel's side.
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

  /** The server has not responded in time, or has not ended its stream in time. */
  expire(): void {
    if (!this.#told) this.#options.observer.limitHit?.("responseTimeoutMs")
    const failed = this.#finish()
    this.#stream?.reset(ERROR.cancel)
    this.#connection?.flushSoon()
    if (failed) this.#failed("response-timeout")
  }

  // Events of the stream.

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
    // RFC 9113 section 8.1: content must not come before the head.
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
    // The response may still arrive.
  }

  onOver(): void {
    // `onEnd` or `onReset` says how it ended.
  }

  onWritable(): void {
    if (!this.#over && !this.#told) this.#listener.onWritable()
  }

  onPause(): void {
    if (!this.#over && !this.#told) this.#listener.onPause()
  }

  // Calls of the pool.

  /** A connection has room for the waiting exchange. */
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
      // Not synchronously: the sender does not hold the call yet.
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
    if (!connection.awaitsSettings) this.#beginTunnel(connection)
    else {
      this.#early ??= new ByteQueue()
      connection.onSettings(() => this.#beginTunnel(connection))
    }
  }

  #begin(connection: UpstreamConnection): Stream {
    const stream = connection.begin(this)
    this.#stream = stream
    writeRequestHead(connection.encoder, this.#request, this.#tunnel)
    stream.sendHeaders(connection.encoder.finish(), !hasContent(this.#request.framing) && this.#tunnel === undefined)
    // A request for an upgrade consists only of its head.
    if (this.#request.upgrade !== undefined) this.#awaitResponse()
    return stream
  }

  /** RFC 9110 section 7.8: a server that cannot switch may respond to the request without the upgrade. */
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

  /** Sends the early bytes. Returns whether the sender was waiting. */
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
   * A response without content is complete even if its head does not end the stream. The caller does not wait for the
   * end, and the server has limited time to send it, because the stream would occupy the caller's share forever.
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
    // The server does not need the rest of the request, and the stream would stay open for it.
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

  /** Returns whether it was not over before. */
  #finish(): boolean {
    if (this.#over) return false
    this.#over = true
    if (this.#connection === undefined) this.#options.forget(this)
    if (this.#placed) this.#options.shares.release(this.#request.caller)
    this.#options.deadlines.unwatch(this)
    return true
  }
}
