// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection to an authenticated control plane; calls are its streams. After a period without data it sends
// a PING. If the peer does not answer or goes away, all calls end with the reason.

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
  /** The value of `:authority`: the server's name. */
  readonly authority: string
  readonly token: string | undefined
  readonly limits: ClientLimits
  /** The peer accepts no further calls; those that it has begun may continue. */
  readonly leaving: () => void
}

/** Enough for a status with its message, and what a load balancer may add. */
const HEADER_BYTES = 16 * 1024
const HEADER_LINES = 128
/** How many bytes may be in flight: an update of a few megabytes takes a few round trips. */
const STREAM_WINDOW = 4 * DEFAULT_WINDOW
const CONNECTION_WINDOW = 2 * STREAM_WINDOW
/** Concurrent streams until the peer announces its limit. */
const ASSUMED_STREAMS = 16
const ABUSE_BUDGET = { burst: 1_000, perSecond: 100 }
/** Time for the last frames of a closing connection. */
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
  /** When an unanswered PING was sent. */
  #pingedAt: number | undefined
  #checkTimer: NodeJS.Timeout | undefined

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
        // A few heads are written in days, so a table is not worth its memory.
        writtenTable: 0,
        abuseBudget: ABUSE_BUDGET,
      },
      this,
    )
    this.#options = options
    const { socket, output } = this.#http2
    socket.on("data", (bytes: Buffer) => this.#feed(bytes))
    socket.on("drain", () => this.#http2.drained())
    socket.on("error", error => this.#lose(UNAVAILABLE, `the connection was lost: ${error.message}`))
    socket.once("end", () => this.#lose(UNAVAILABLE, "the control plane closed the connection"))
    socket.once("close", () => this.#lose(UNAVAILABLE, "the connection was lost"))
    output.text(
      PREFACE +
        settingsText([
          // Responses are few, and each connection would keep a table of their fields.
          [SETTING.headerTableSize, 0],
          [SETTING.enablePush, 0],
          [SETTING.initialWindowSize, STREAM_WINDOW],
          [SETTING.maxHeaderListSize, HEADER_BYTES],
        ]) +
        windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    output.flush()
    this.#checkIn(options.limits.pingEveryMs)
  }

  /** `withinMs` tells the server how long the response is of use. */
  call(path: string, user: CallUser, withinMs?: number): Call | CallEnd {
    const { authority, token, limits } = this.#options
    if (this.#lost !== undefined) return this.#lost
    if (this.#leaving || this.#nextStream >= MAX_STREAM) {
      return { code: UNAVAILABLE, message: "the control plane is shutting down" }
    }
    if (this.#http2.streams.size >= this.#http2.peerSettings.maxConcurrentStreams) {
      return { code: UNAVAILABLE, message: "the control plane accepts no further calls on this connection" }
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

  /** Closes the connection after the owners of its calls have cancelled them. */
  close(): void {
    clearTimeout(this.#checkTimer)
    if (this.#http2.failed) return
    this.#lost ??= { code: "CANCELLED", message: "closed" }
    this.#http2.goaway(0, ERROR.none)
    this.#http2.abandon()
    this.#linger()
  }

  failing(debug: string): void {
    this.#lost ??= { code: "INTERNAL", message: `the control plane violated HTTP/2: ${debug}` }
  }

  opened(): void {
    // INVARIANT: our settings disable push and are sent first, so a server may never open a stream.
    this.#http2.fail(ERROR.protocol, "a control plane must not open streams")
  }

  goingAway(lastStream: number): void {
    for (const stream of this.#http2.streams.all()) {
      if (stream.id <= lastStream) continue
      stream.finish(false)
      // RFC 9113 section 6.8: the server has not processed the stream.
      stream.user?.onReset(ERROR.refused)
    }
    if (this.#leaving) return
    this.#leaving = true
    this.#options.leaving()
  }

  finished(): void {
    // The code that opened the connection closes it.
  }

  chargeReset(): void {
    // A call that ends this way is not retried at once.
  }

  settingsReceived(): void {
    // Nothing here waits for the peer's settings.
  }

  pinged(): void {
    // Any received data counts as a sign of life already.
  }

  closing(_code: ErrorCode): void {
    clearTimeout(this.#checkTimer)
    this.#linger()
  }

  isIdleStream(id: number): boolean {
    return id >= this.#nextStream
  }

  #feed(bytes: Buffer): void {
    if (this.#http2.failed) return
    this.#heardAt = performance.now()
    this.#pingedAt = undefined
    this.#http2.receive(bytes, 0, bytes.length)
  }

  #lose(code: string, message: string): void {
    clearTimeout(this.#checkTimer)
    this.#lost ??= { code, message }
    if (!this.#http2.failed) this.#http2.abandon()
    this.#http2.socket.destroy()
  }

  #checkIn(milliseconds: number): void {
    // `setImmediate`, because after a process was suspended, timers run before data that has arrived meanwhile is read.
    // Without it, a control plane whose answer is among that data would be considered dead.
    this.#checkTimer = setTimeout(() => setImmediate(() => this.#check()), milliseconds).unref()
  }

  #check(): void {
    if (this.#http2.failed) return
    const { pingEveryMs, pingTimeoutMs } = this.#options.limits
    const now = performance.now()
    if (this.#pingedAt !== undefined) {
      const left = this.#pingedAt + pingTimeoutMs - now
      if (left > 0) this.#checkIn(left)
      else this.#lose(UNAVAILABLE, "the control plane stopped responding")
      return
    }
    const left = this.#heardAt + pingEveryMs - now
    if (left > 0) {
      this.#checkIn(left)
      return
    }
    this.#pingedAt = now
    this.#http2.output.text(pingText(false, PING))
    this.#http2.output.flush()
    this.#checkIn(pingTimeoutMs)
  }

  #linger(): void {
    this.#http2.socket.end()
    const cut = setTimeout(() => this.#http2.socket.destroy(), LINGER_MS).unref()
    this.#http2.socket.once("close", () => clearTimeout(cut))
  }
}
