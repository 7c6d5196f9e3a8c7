// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection of a client: its limits, its idle timeout, and how it ends. Each stream is a request with its
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

/** What one stream, and what all together, may send us beyond what has been forwarded. */
const STREAM_WINDOW = 256 * 1024
const CONNECTION_WINDOW = 1024 * 1024
const ABUSE_BUDGET = { burst: 1_000, perSecond: 100 }
/** Pseudo-headers are not header lines. */
const PSEUDO = 5
/** For the last frames of a connection that ends. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

export class Http2Downstream<E extends Exchange>
  implements DownstreamConnection<E>, ConnectionUser, WireUser, Expiring, ClientConnection, ByteHolder
{
  readonly #http2: Connection
  readonly #options: DownstreamOptions
  readonly #user: DownstreamUser<E>
  readonly #resets: TokenBucket
  /** How much of the preface has come. */
  #preface = 0
  /** Asked whether it is still there, and not answered yet. */
  #asked = false
  #draining = false
  /** It is read no further. */
  #deaf = false
  /** The last stream that counts has been told. */
  #ending = false
  deadline = 0
  place = UNWATCHED
  heldBytes = 0
  heldSince = 0

  /** `resets`: what the client may still throw away, over all of its connections (CVE-2023-44487). */
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
    this.#http2.outbox.text(
      settingsText([
        [SETTING.maxConcurrentStreams, limits.streams],
        [SETTING.initialWindowSize, STREAM_WINDOW],
        [SETTING.maxHeaderListSize, limits.headerBytes],
        [SETTING.enableConnectProtocol, 1],
      ]) + windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    this.#http2.outbox.flush()
    if (head.length > 0) this.#feed(head, head.length)
    if (this.#http2.socket.destroyed) this.onClose()
    else if (this.#http2.socket.readableEnded) this.onEnd()
    else if (!this.#deaf) this.#http2.socket.resume()
  }

  // From the wire.

  onBytes(bytes: BorrowedBytes, length: number): void {
    this.#feed(bytes, length)
  }

  /** A client that has ended can acknowledge nothing either. */
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
    unread.holds(this, 0)
    deadlines.unwatch(this)
    this.#user.closed()
  }

  // From its owner.

  exchanges(): readonly E[] {
    const exchanges: E[] = []
    for (const { user } of this.#http2.streams.all()) {
      // INVARIANT: streams of this connection have no other users.
      const exchange = user instanceof ResponseWriter ? (user as ResponseWriter<E>).exchange : undefined
      if (exchange !== undefined) exchanges.push(exchange)
    }
    return exchanges
  }

  /** GOAWAY: streams that are open end in their own time, further ones belong on another connection. */
  drain(how: Drain): void {
    if (this.#draining || this.#http2.failed) return
    this.#draining = true
    const isIdle = this.#http2.streams.size === 0
    if (isIdle && how !== "gradually") {
      this.#lastWords()
      return
    }
    // A client that does not answer has sent nothing either.
    if (isIdle) this.deadline = this.#options.deadlines.after(LINGER_MS)
    // RFC 9113 section 6.8: requests may be on their way; which is the last is told once it has heard that it should stop.
    this.#http2.goaway(MAX_STREAM, ERROR.none)
    this.#http2.outbox.text(pingText(false, PING))
    this.#http2.outbox.flush()
  }

  /** All connections together hold too much, and this one most. */
  evict(): void {
    this.#user.evicted()
    this.destroy()
  }

  destroy(): void {
    this.#http2.socket.destroy()
  }

  /** Without a stream for too long: it drains, and ends if that does not end it. With streams it must show that it lives. */
  expire(): void {
    const { deadlines, limits } = this.#options
    if (this.#http2.failed || this.#ending || this.#asked) {
      this.destroy()
    } else if (this.#http2.streams.size === 0) {
      if (this.#draining) this.#lastWords()
      else this.drain("now")
    } else {
      this.#asked = true
      this.#http2.outbox.text(pingText(false, PING))
      this.#http2.outbox.flush()
      this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    }
  }

  // From requests.

  flushSoon(): void {
    this.#http2.flushSoon()
  }

  unwelcome(): void {
    this.drain("tunnels-too")
  }

  streamWasted(): void {
    // Fail closed: a peer that only makes work loses its connection, with everything on it.
    if (this.#resets.take(performance.now())) return
    this.#user.limitHit("streams")
    this.#http2.fail(ERROR.calm, "too many streams thrown away")
  }

  // From the connection.

  opened(id: number, list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    const { limits } = this.#options
    if (this.#ending || this.#http2.streams.size >= limits.streams) {
      this.#http2.outbox.text(resetText(id, ERROR.refused))
      if (this.#http2.acknowledged) {
        this.#user.limitHit("streams")
        this.streamWasted()
      }
      return
    }
    const stream = this.#http2.open(id)
    const writer = new ResponseWriter(this, this.#options, this.#user, stream)
    stream.user = writer
    stream.remoteEnded = ended
    this.#alive()
    // A connection that was opened during a drain serves what it was opened for, and no more.
    if (this.#user.draining) this.drain("gradually")
    writer.begin(list, error, ended)
  }

  goingAway(): void {
    // It will open no further stream, which is all there is to know.
  }

  finished({ localEnded, remoteEnded }: Stream): void {
    if (localEnded && remoteEnded) this.#resets.credit(RETURN)
    if (this.#http2.streams.size > 0 || this.#http2.failed) return
    if (this.#ending) this.#lastWords()
    // Until it has heard that it should stop, further requests may be on their way.
    else if (this.#draining) this.deadline = this.#options.deadlines.after(LINGER_MS)
    else this.#rest()
  }

  settled(): void {
    // Nothing here waits for the peer's settings.
  }

  pinged(): void {
    this.#asked = false
    this.#alive()
    if (!this.#draining || this.#ending) return
    if (this.#http2.streams.size === 0) {
      this.#lastWords()
      return
    }
    this.#ending = true
    this.#http2.goaway(this.#http2.lastStream, ERROR.none)
  }

  closing(code: ErrorCode): void {
    const { deadlines } = this.#options
    if (code === ERROR.calm) this.#user.limitHit("streams")
    this.deadline = deadlines.after(LINGER_MS)
    // A peer that floods is not read any further; others may need to be, so that a reset does not lose the last
    // response.
    this.#deaf = code === ERROR.calm
    if (this.#deaf) this.#http2.socket.pause()
    this.#http2.socket.end()
  }

  idleToUs(): boolean {
    // We open no streams, so no stream with an even number exists.
    return true
  }

  #feed(bytes: BorrowedBytes, length: number): void {
    if (this.#http2.failed) {
      if (this.#deaf) this.destroy()
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
    if (held !== this.heldBytes && !this.#http2.failed) this.#options.unread.holds(this, held)
  }

  #lastWords(): void {
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

/** What a request that is over gives back: for every two, one more may be thrown away. */
const RETURN = 0.5
