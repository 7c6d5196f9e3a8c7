// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection to a server, with at most one request at a time. Responses are read with the strict codec.

import type { Socket } from "node:net"
import { type Deadlines, type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { Fields } from "../http/fields.js"
import { UNTIL_CLOSE } from "../http/framing.js"
import { isSwitchedAsAsked } from "../http/upgrade.js"
import type { Connect, UpstreamFailure, UpstreamLimits, UpstreamObserver } from "../http/upstream.js"
import { type BorrowedBytes, openWire, type WireUser } from "../sockets/borrowed-reads.js"
import { OutputBuffer } from "../sockets/output-buffer.js"
import { whenReady } from "../sockets/ready.js"
import { BodyReader } from "./body-reader.js"
import { HeadScanner } from "./head-scanner.js"
import type { Http1ResponseHead, ResponseHeads } from "./response-head.js"
import { STEP } from "./step.js"
import type { ExchangeConnection, UpstreamExchange } from "./upstream-exchange.js"

/** `head`: waits for a response head. `body`: reads content. `tunnel`: copies bytes after a 101. */
type Phase = "head" | "body" | "tunnel"

/** The interface of the pool that the connection belongs to. */
export interface ConnectionPool {
  readonly connect: Connect
  readonly limits: UpstreamLimits
  readonly observer: UpstreamObserver
  readonly deadlines: Deadlines
  readonly heads: ResponseHeads
  readonly retries: boolean
  /** 0 means no limit. */
  readonly requestsPerConnection: number
  /** The connection is free for the next request. */
  release(connection: UpstreamConnection): void
  closed(connection: UpstreamConnection): void
  /** Retries a request whose connection closed before the server could read it. */
  retry(exchange: UpstreamExchange): void
  idleDeadline(): number
  noteIdleHint(headers: Fields): void
}

export class UpstreamConnection implements ExchangeConnection, WireUser, Expiring {
  readonly output: OutputBuffer
  readonly #upstream: ConnectionPool
  readonly #socket: Socket
  readonly #scanner: HeadScanner
  readonly #reader: BodyReader
  #exchange: UpstreamExchange | undefined
  #phase: Phase = "head"
  #connected = false
  #timedOut = false
  /** Why the connection could not be established. */
  #error: Error | undefined
  /** Requests before this one. If there were any, the server may have closed the idle connection while we wrote. */
  #carried = 0
  #keepAlive = false
  #paused = false
  /** Whether a byte of the response has arrived. */
  #answered = false
  /** Whether the head of the final response has arrived. */
  #responded = false
  /** After an upgrade: the server has ended its side. */
  #readEnded = false
  deadline = 0
  place = UNWATCHED

  constructor(upstream: ConnectionPool) {
    const { connect, limits, deadlines } = upstream
    this.#upstream = upstream
    this.#scanner = new HeadScanner(limits.headerBytes)
    this.#reader = new BodyReader(limits.headerBytes, limits.headerLines, true)
    // A tunnel may end in one direction only.
    const socket = connect({ allowHalfOpen: true })
    this.#socket = socket
    this.output = new OutputBuffer(socket)
    openWire(socket, this)
    socket.setNoDelay(true)
    socket.once("error", error => {
      this.#error = error
    })
    whenReady(socket, () => this.#onConnect())
    socket.resume()
    this.deadline = deadlines.after(limits.connectTimeoutMs)
    deadlines.watch(this)
  }

  /** False as soon as the connection is known to end, which is before it has closed. */
  get usable(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded
  }

  begin(exchange: UpstreamExchange): void {
    this.#exchange = exchange
    this.#phase = "head"
    this.#answered = false
    this.#responded = false
    if (this.#connected) this.deadline = 0
    exchange.attach(this)
  }

  requestEnded(): void {
    if (this.#phase === "tunnel") {
      this.output.flush()
      if (this.#readEnded) this.#finishTunnel()
      else this.#socket.end()
      return
    }
    if (this.#connected && !this.#responded) this.#awaitResponse()
  }

  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
  }

  /** Closes the connection because the sender cancelled its request. */
  destroy(): void {
    this.#exchange = undefined
    this.#socket.destroy()
  }

  /** Closes the connection now; a request on it fails. */
  end(): void {
    this.#fail(this.#connected ? "reset" : "connect")
  }

  expire(): void {
    const exchange = this.#exchange
    this.#timedOut = true
    if (exchange === undefined) {
      this.#socket.destroy()
      return
    }
    this.#upstream.observer.limitHit?.(this.#connected ? "responseTimeoutMs" : "connectTimeoutMs")
    this.#fail(this.#connected ? "response-timeout" : "connect-timeout")
  }

  #awaitResponse(): void {
    this.deadline = this.#upstream.deadlines.after(this.#upstream.limits.responseTimeoutMs)
  }

  #onConnect(): void {
    this.#connected = true
    this.deadline = 0
    if (this.#exchange?.requestComplete === true) this.#awaitResponse()
    this.#exchange?.listener.onWritable()
  }

  onBytes(bytes: BorrowedBytes, length: number): void {
    let at = 0
    const { listener } = this.#exchange ?? {}
    // Unexpected bytes: the next response must not be read from them.
    if (listener === undefined) {
      this.#socket.destroy()
      return
    }
    this.#answered = true
    while (this.#exchange !== undefined && (at < length || this.#phase === "body")) {
      const next = this.#phase === "head" ? this.#readHead(bytes, at, length) : this.#readContent(bytes, at, length)
      if (next < 0) break
      at = next
    }
    listener.onPause()
  }

  /** Returns where to continue; -1 if there is nothing to continue with. */
  #readHead(bytes: BorrowedBytes, at: number, length: number): number {
    const exchange = this.#exchange
    if (exchange === undefined) return -1
    const after = this.#scanner.scan(bytes, at, length)
    if (after === -1) return -1
    if (after === -2) return this.#malformed()
    const head = this.#upstream.heads.read(this.#scanner.text, exchange.request.method)
    if (typeof head === "string") return this.#malformed()
    if (head.status < 200 && head.status !== 101) {
      exchange.listener.onInformational(head)
      return after
    }
    this.#responded = true
    this.deadline = 0
    if (head.status === 101) return this.#upgrade(exchange, head, after)
    this.#keepAlive = head.keepAlive
    this.#upstream.noteIdleHint(head.headers)
    this.#phase = "body"
    this.#reader.begin(head.framing)
    exchange.listener.onResponse(head)
    return after
  }

  #upgrade(exchange: UpstreamExchange, head: Http1ResponseHead, after: number): number {
    if (!isSwitchedAsAsked(exchange.request.upgrade, head.headers)) return this.#malformed()
    this.#phase = "tunnel"
    this.#reader.begin(UNTIL_CLOSE)
    const waited = exchange.switched()
    exchange.listener.onResponse(head)
    if (waited) exchange.listener.onWritable()
    return after
  }

  #readContent(bytes: BorrowedBytes, at: number, length: number): number {
    const exchange = this.#exchange
    if (exchange === undefined) return -1
    const step = this.#reader.read(bytes, at, length)
    if (step === STEP.data) {
      exchange.listener.onContent(bytes, this.#reader.start, this.#reader.end)
      return this.#reader.next
    }
    if (step === STEP.more) return -1
    if (step === STEP.error) return this.#malformed()
    const extra = this.#reader.next < length
    this.#finish(exchange, !extra)
    exchange.listener.onEnd(this.#reader.trailers)
    return -1
  }

  /** The response is complete: the connection is released for the next request, or closed. */
  #finish(exchange: UpstreamExchange, clean: boolean): void {
    this.#exchange = undefined
    exchange.finish()
    this.#carried += 1
    // The response may have ended while its client was slow, and a paused socket does not notice that the other side
    // closes.
    if (this.#paused) this.resume()
    const { requestsPerConnection } = this.#upstream
    const isSpent = requestsPerConnection > 0 && this.#carried >= requestsPerConnection
    // The rest of a request that was not sent to its end would be parsed as the next request.
    if (clean && this.#keepAlive && exchange.ended && !isSpent && !this.#socket.destroyed) {
      this.deadline = this.#upstream.idleDeadline()
      this.#upstream.release(this)
    } else {
      this.#socket.destroy()
    }
  }

  onDrain(): void {
    this.#exchange?.listener.onWritable()
  }

  onEnd(): void {
    const exchange = this.#exchange
    if (this.#phase === "tunnel" && exchange !== undefined) {
      this.#readEnded = true
      exchange.listener.onEnd(undefined)
      if (exchange.ended) this.#finishTunnel()
      return
    }
    // Content with any other framing marks its own end, so here it was cut short.
    if (exchange !== undefined && this.#phase === "body" && this.#reader.endsWithConnection) {
      this.#finish(exchange, false)
      exchange.listener.onEnd(undefined)
      exchange.listener.onPause()
      return
    }
    this.#socket.destroy()
  }

  #finishTunnel(): void {
    this.#exchange?.finish()
    this.#exchange = undefined
    this.#socket.end()
    this.#socket.destroySoon()
  }

  onClose(): void {
    if (!this.#connected) this.#upstream.observer.connectFailed?.(this.#error)
    this.#upstream.deadlines.unwatch(this)
    this.#upstream.closed(this)
    this.#fail(this.#connected ? "reset" : "connect")
  }

  #malformed(): number {
    this.#fail("protocol")
    return -1
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#socket.destroy()
    if (exchange === undefined) return
    const untouched = failure === "reset" && this.#carried > 0 && !this.#answered && !this.#timedOut
    if (untouched && this.#upstream.retries && exchange.takeRetry()) {
      this.#upstream.retry(exchange)
      return
    }
    exchange.finish()
    exchange.listener.onFailure(failure)
  }
}
