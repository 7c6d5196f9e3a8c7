// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection of a client: its limits, its idle timeout, and how it closes. Each stream is a request with its
// `ResponseWriter`.

import type { Socket } from "node:net"
import { type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { DownstreamConnection, DownstreamOptions, DownstreamUser, Drain, Exchange } from "../http/downstream.js"
import type { ByteHolder } from "../limits/byte-budget.js"
import type { TokenBucket } from "../limits/token-bucket.js"
import { type BorrowedBytes, openWire, type WireUser } from "../sockets/borrowed-reads.js"
import { Connection } from "./connection.js"
import type { ConnectionUser } from "./connection-user.js"
import type { Field } from "./field.js"
import { DEFAULT_WINDOW, ERROR, type ErrorCode, MAX_STREAM, PREFACE, SETTING } from "./frame.js"
import { pingText, resetText, settingsText, windowUpdateText } from "./frame-writer.js"
import type { ListError } from "./hpack/decoder.js"
import { type ClientConnection, ResponseWriter } from "./response-writer.js"
import type { Stream } from "./stream.js"

/** How many bytes one stream, and all together, may send before they have been forwarded. */
const STREAM_WINDOW = 256 * 1024
const CONNECTION_WINDOW = 1024 * 1024
const ABUSE_BUDGET = { burst: 1_000, perSecond: 100 }
/** Pseudo-headers do not count as header lines. */
const PSEUDO = 5
/** Time for the last frames of a closing connection. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

export class Http2Downstream<E extends Exchange>
  implements DownstreamConnection<E>, ConnectionUser, WireUser, Expiring, ClientConnection, ByteHolder
{
  readonly #http2: Connection
  readonly #options: DownstreamOptions
  readonly #user: DownstreamUser<E>
  readonly #resets: TokenBucket
  /** How many bytes of the preface have arrived. */
  #preface = 0
  /** A PING was sent and is not acknowledged yet. */
  #awaitsPing = false
  #draining = false
  /** Input is no longer read. */
  #ignoresInput = false
  /** The final GOAWAY, with the last stream that is processed, has been sent. */
  #ending = false
  deadline = 0
  place = UNWATCHED
  heldBytes = 0
  heldSince = 0

  /** `resets`: the budget for streams that the client resets, over all of its connections (CVE-2023-44487). */
  constructor(socket: Socket, options: DownstreamOptions, user: DownstreamUser<E>, resets: TokenBucket) {
    const { limits, deadlines } = options
    this.#http2 = new Connection(
      {
        socket,
        server: true,
        headerBytes: limits.headerBytes,
        headerLines: limits.headerLines + PSEUDO,
        streamWindow: STREAM_WINDOW,
        connectionWindow: CONNECTION_WINDOW,
        assumedStreams: 0,
        abuseBudget: ABUSE_BUDGET,
      },
      this,
    )
    this.#options = options
    this.#user = user
    this.#resets = resets
    openWire(socket, this)
    deadlines.watch(this)
    this.#rest()
  }

  start(head: Buffer): void {
    const { limits } = this.#options
    this.#http2.output.text(
      settingsText([
        [SETTING.maxConcurrentStreams, limits.streams],
        [SETTING.initialWindowSize, STREAM_WINDOW],
        [SETTING.maxHeaderListSize, limits.headerBytes],
        [SETTING.enableConnectProtocol, 1],
      ]) + windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    this.#http2.output.flush()
    if (head.length > 0) this.#feed(head, head.length)
    if (this.#http2.socket.destroyed) this.onClose()
    else if (this.#http2.socket.readableEnded) this.onEnd()
    else if (!this.#ignoresInput) this.#http2.socket.resume()
  }

  // Events of the socket.

  onBytes(bytes: BorrowedBytes, length: number): void {
    this.#feed(bytes, length)
  }

  /** A client that has ended its side cannot acknowledge anything either. */
  onEnd(): void {
    this.#http2.abandon()
    this.#http2.socket.end()
    this.#http2.socket.destroySoon()
  }

  onDrain(): void {
    this.#http2.drained()
  }

  onClose(): void {
    const { deadlines, unread } = this.#options
    this.#http2.abandon()
    unread.setHeld(this, 0)
    deadlines.unwatch(this)
    this.#user.closed()
  }

  // Calls of the connection's owner.

  exchanges(): readonly E[] {
    const exchanges: E[] = []
    for (const { user } of this.#http2.streams.all()) {
      // INVARIANT: streams of this connection have no other users.
      const exchange = user instanceof ResponseWriter ? (user as ResponseWriter<E>).exchange : undefined
      if (exchange !== undefined) exchanges.push(exchange)
    }
    return exchanges
  }

  /** Sends GOAWAY: open streams may complete, and new ones must use another connection. */
  drain(how: Drain): void {
    if (this.#draining || this.#http2.failed) return
    this.#draining = true
    const isIdle = this.#http2.streams.size === 0
    if (isIdle && how !== "gradually") {
      this.#sendLastGoaway()
      return
    }
    // A client that does not acknowledge the PING in time has sent nothing either.
    if (isIdle) this.deadline = this.#options.deadlines.after(LINGER_MS)
    // RFC 9113 section 6.8: requests may be in flight. The last stream is announced after the client has acknowledged
    // that it should stop.
    this.#http2.goaway(MAX_STREAM, ERROR.none)
    this.#http2.output.text(pingText(false, PING))
    this.#http2.output.flush()
  }

  /** Closes the connection because all connections together hold too many bytes, and this one the most. */
  evict(): void {
    this.#user.evicted()
    this.destroy()
  }

  destroy(): void {
    this.#http2.socket.destroy()
  }

  /**
   * Without streams: drains the connection, then closes it. With streams: sends a PING, and closes the connection if it
   * is not acknowledged.
   */
  expire(): void {
    const { deadlines, limits } = this.#options
    if (this.#http2.failed || this.#ending || this.#awaitsPing) {
      this.destroy()
    } else if (this.#http2.streams.size === 0) {
      if (this.#draining) this.#sendLastGoaway()
      else this.drain("now")
    } else {
      this.#awaitsPing = true
      this.#http2.output.text(pingText(false, PING))
      this.#http2.output.flush()
      this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    }
  }

  // Calls of requests.

  flushSoon(): void {
    this.#http2.flushSoon()
  }

  chargeReset(): void {
    // Fail closed: a peer that only causes work loses its connection, with everything on it.
    if (this.#resets.take(performance.now())) return
    this.#user.limitHit("streams")
    this.#http2.fail(ERROR.calm, "too many streams thrown away")
  }

  // Events of the connection.

  opened(id: number, list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    const { limits } = this.#options
    if (this.#ending || this.#http2.streams.size >= limits.streams) {
      this.#http2.output.text(resetText(id, ERROR.refused))
      if (this.#http2.acknowledged) {
        this.#user.limitHit("streams")
        this.chargeReset()
      }
      return
    }
    const stream = this.#http2.open(id)
    const writer = new ResponseWriter(this, this.#options, this.#user, stream)
    stream.user = writer
    stream.remoteEnded = ended
    this.#alive()
    // A connection that was opened during a drain serves its first streams and no more.
    if (this.#user.draining) this.drain("gradually")
    writer.begin(list, error, ended)
  }

  goingAway(): void {
    // The client will open no further stream; nothing else follows from it.
  }

  finished({ localEnded, remoteEnded }: Stream): void {
    if (localEnded && remoteEnded) this.#resets.credit(RETURN)
    if (this.#http2.streams.size > 0 || this.#http2.failed) return
    if (this.#ending) this.#sendLastGoaway()
    // Further requests may be in flight until the client has acknowledged the GOAWAY.
    else if (this.#draining) this.deadline = this.#options.deadlines.after(LINGER_MS)
    else this.#rest()
  }

  settingsReceived(): void {
    // Nothing here waits for the peer's settings.
  }

  pinged(): void {
    this.#awaitsPing = false
    this.#alive()
    if (!this.#draining || this.#ending) return
    if (this.#http2.streams.size === 0) {
      this.#sendLastGoaway()
      return
    }
    this.#ending = true
    this.#http2.goaway(this.#http2.lastStream, ERROR.none)
  }

  closing(code: ErrorCode): void {
    const { deadlines } = this.#options
    if (code === ERROR.calm) this.#user.limitHit("streams")
    this.deadline = deadlines.after(LINGER_MS)
    // Input of a peer that floods is no longer read. Other peers' input may have to be read, so that a reset does not
    // destroy the last response.
    this.#ignoresInput = code === ERROR.calm
    if (this.#ignoresInput) this.#http2.socket.pause()
    this.#http2.socket.end()
  }

  isIdleStream(): boolean {
    // We open no streams, so no stream with an even id exists.
    return true
  }

  #feed(bytes: BorrowedBytes, length: number): void {
    if (this.#http2.failed) {
      if (this.#ignoresInput) this.destroy()
      return
    }
    let from = 0
    while (this.#preface < PREFACE.length && from < length) {
      if (bytes[from] !== PREFACE.charCodeAt(this.#preface)) {
        this.#http2.fail(ERROR.protocol, "no HTTP/2")
        return
      }
      this.#preface++
      from++
    }
    if (this.#http2.streams.size > 0) this.#alive()
    this.#http2.receive(bytes, from, length)
    const { held } = this.#http2
    if (held !== this.heldBytes && !this.#http2.failed) this.#options.unread.setHeld(this, held)
  }

  #sendLastGoaway(): void {
    this.#ending = true
    this.#http2.goaway(this.#http2.lastStream, ERROR.none)
    this.#http2.failed = true
    this.deadline = this.#options.deadlines.after(LINGER_MS)
    this.#http2.socket.end()
  }

  #rest(): void {
    const { deadlines, limits } = this.#options
    this.deadline = deadlines.after(limits.keepAliveTimeoutMs)
  }

  #alive(): void {
    const { deadlines, limits } = this.#options
    if (this.#http2.streams.size > 0) this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
  }
}

/** What a completed request credits to the budget: one reset for every two requests. */
const RETURN = 0.5
