// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection to an authenticated control plane; calls are its streams. After a silence it sends a ping; if the
// peer does not answer or goes away, all calls end with the reason.

import type { TLSSocket } from "node:tls"
import {
  DEFAULT_WINDOW,
  HTTP2_ERROR as ERROR,
  type Http2ErrorCode as ErrorCode,
  Http2Connection,
  type Http2ConnectionUser,
  MAX_STREAM,
  HTTP2_PREFACE as PREFACE,
  pingText,
  HTTP2_SETTING as SETTING,
  settingsText,
  windowUpdateText,
} from "@merlon/wire"
import type { ClientLimits } from "../options.js"
import { Call, type CallUser } from "./call.js"
import type { CallEnd } from "./response-head.js"

export interface GrpcConnectionOptions {
  readonly socket: TLSSocket
  /** The name that the other side goes by. */
  readonly authority: string
  readonly token: string | undefined
  readonly limits: ClientLimits
  /** It wants no further calls; those that it has begun to answer may go on. */
  readonly leaving: () => void
}

/** A status with its message, and what a balancer may add. */
const HEADER_BYTES = 16 * 1024
const HEADER_LINES = 128
/** What may be under way: a set of a few megabytes comes in a few turns, wherever the control plane is. */
const STREAM_WINDOW = 4 * DEFAULT_WINDOW
const CONNECTION_WINDOW = 2 * STREAM_WINDOW
/** Before it has said how many. */
const ASSUMED_STREAMS = 16
const ABUSE_BUDGET = { burst: 1_000, perSecond: 100 }
/** For the last frames of a connection that ends. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

const UNAVAILABLE = "UNAVAILABLE"

export class GrpcConnection implements Http2ConnectionUser {
  readonly #http2: Http2Connection
  readonly #options: GrpcConnectionOptions
  #nextStream = 1
  #leaving = false
  #lost: CallEnd | undefined
  #heardAt = performance.now()
  /** Asked whether it still lives. */
  #askedAt: number | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(options: GrpcConnectionOptions) {
    this.#http2 = new Http2Connection(
      {
        socket: options.socket,
        server: false,
        headerBytes: HEADER_BYTES,
        headerLines: HEADER_LINES,
        streamWindow: STREAM_WINDOW,
        connectionWindow: CONNECTION_WINDOW,
        assumedStreams: ASSUMED_STREAMS,
        // A handful of heads in days: a table would lie there for as long.
        writtenTable: 0,
        abuseBudget: ABUSE_BUDGET,
      },
      this,
    )
    this.#options = options
    const { socket, outbox } = this.#http2
    socket.on("data", (bytes: Buffer) => this.#feed(bytes))
    socket.on("drain", () => this.#http2.drained())
    socket.on("error", error => this.#lose(UNAVAILABLE, `the connection was lost: ${error.message}`))
    socket.once("end", () => this.#lose(UNAVAILABLE, "the control plane closed the connection"))
    socket.once("close", () => this.#lose(UNAVAILABLE, "the connection was lost"))
    outbox.text(
      PREFACE +
        settingsText([
          // Answers are few, and a table of their fields would be kept for each.
          [SETTING.headerTableSize, 0],
          [SETTING.enablePush, 0],
          [SETTING.initialWindowSize, STREAM_WINDOW],
          [SETTING.maxHeaderListSize, HEADER_BYTES],
        ]) +
        windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    outbox.flush()
    this.#lookIn(options.limits.pingEveryMs)
  }

  /** `withinMs` tells the other side how long an answer is of use. */
  call(path: string, user: CallUser, withinMs?: number): Call | CallEnd {
    const { authority, token, limits } = this.#options
    if (this.#lost !== undefined) return this.#lost
    if (this.#leaving || this.#nextStream >= MAX_STREAM) {
      return { code: UNAVAILABLE, message: "the control plane is going away" }
    }
    if (this.#http2.streams.size >= this.#http2.peerSettings.maxConcurrentStreams) {
      return { code: UNAVAILABLE, message: "the control plane takes no further calls on this connection" }
    }
    const stream = this.#http2.open(this.#nextStream)
    this.#nextStream += 2
    const call = new Call(stream, user, limits.messageBytes, () => this.#lost)
    stream.user = call
    const { encoder } = this.#http2
    encoder.field(":method", "POST")
    encoder.field(":scheme", "https")
    encoder.field(":path", path)
    encoder.field(":authority", authority)
    encoder.field("te", "trailers")
    encoder.field("content-type", "application/grpc+proto")
    if (withinMs !== undefined) encoder.field("grpc-timeout", `${Math.max(1, Math.min(99_999_999, withinMs))}m`)
    if (token !== undefined) encoder.field("authorization", `Bearer ${token}`, true)
    stream.sendHeaders(encoder.finish(), false)
    return call
  }

  /** The owners of its calls have cancelled them. */
  close(): void {
    clearTimeout(this.#looking)
    if (this.#http2.failed) return
    this.#lost ??= { code: "CANCELLED", message: "closed" }
    this.#http2.goaway(0, ERROR.none)
    this.#http2.abandon()
    this.#linger()
  }

  failing(debug: string): void {
    this.#lost ??= { code: "INTERNAL", message: `the control plane breaks the rules of HTTP/2: ${debug}` }
  }

  opened(): void {
    // INVARIANT: with push disabled no server opens a stream to us; the connection has announced that before it comes
    // here.
    this.#http2.fail(ERROR.protocol, "a control plane opens no streams")
  }

  goingAway(lastStream: number): void {
    for (const stream of this.#http2.streams.all()) {
      if (stream.id <= lastStream) continue
      stream.finish(false)
      // RFC 9113 section 6.8: it has not been looked at.
      stream.user?.onReset(ERROR.refused)
    }
    if (this.#leaving) return
    this.#leaving = true
    this.#options.leaving()
  }

  finished(): void {
    // The code that opened the connection closes it.
  }

  streamWasted(): void {
    // A call that ends so is not begun again at once.
  }

  settled(): void {
    // Nothing here waits for the peer's settings.
  }

  pinged(): void {
    // That it was heard is all there is to know.
  }

  closing(_code: ErrorCode): void {
    clearTimeout(this.#looking)
    this.#linger()
  }

  idleToUs(id: number): boolean {
    return id >= this.#nextStream
  }

  #feed(bytes: Buffer): void {
    if (this.#http2.failed) return
    this.#heardAt = performance.now()
    this.#askedAt = undefined
    this.#http2.receive(bytes, 0, bytes.length)
  }

  #lose(code: string, message: string): void {
    clearTimeout(this.#looking)
    this.#lost ??= { code, message }
    if (!this.#http2.failed) this.#http2.abandon()
    this.#http2.socket.destroy()
  }

  #lookIn(milliseconds: number): void {
    // Not in the timer itself: of a process that was held up, timers come before what has arrived meanwhile, and a control
    // plane whose answer lies there would be taken for dead.
    this.#looking = setTimeout(() => setImmediate(() => this.#look()), milliseconds).unref()
  }

  #look(): void {
    if (this.#http2.failed) return
    const { pingEveryMs, pingTimeoutMs } = this.#options.limits
    const now = performance.now()
    if (this.#askedAt !== undefined) {
      const left = this.#askedAt + pingTimeoutMs - now
      if (left > 0) this.#lookIn(left)
      else this.#lose(UNAVAILABLE, "the control plane does not answer any more")
      return
    }
    const left = this.#heardAt + pingEveryMs - now
    if (left > 0) {
      this.#lookIn(left)
      return
    }
    this.#askedAt = now
    this.#http2.outbox.text(pingText(false, PING))
    this.#http2.outbox.flush()
    this.#lookIn(pingTimeoutMs)
  }

  #linger(): void {
    this.#http2.socket.end()
    const cut = setTimeout(() => this.#http2.socket.destroy(), LINGER_MS).unref()
    this.#http2.socket.once("close", () => clearTimeout(cut))
  }
}
