// SPDX-License-Identifier: Apache-2.0
// One client's HTTP/2 connection; each stream is a call. Limits the number of calls, checks that the client is alive,
// and closes the connection.

import type { Http2Field as Field, HeaderListError as ListError } from "@merlon/wire"
import {
  type BorrowedBytes,
  DEFAULT_WINDOW,
  HTTP2_ERROR as ERROR,
  type Http2ErrorCode as ErrorCode,
  Http2Connection,
  type Http2ConnectionUser,
  HTTP2_PREFACE as PREFACE,
  pingText,
  readIntoShared,
  resetText,
  HTTP2_SETTING as SETTING,
  settingsText,
  windowUpdateText,
} from "@merlon/wire"
import { TokenBucket } from "@merlon/wire/limits"
import type { ServerLimits } from "../limits.js"
import type { Connection } from "../listener.js"
import { GrpcCall } from "./call.js"
import { readHead } from "./request-head.js"

export interface GrpcConnectionOptions {
  readonly connection: Connection
  readonly limits: ServerLimits
  /** Monotonic, in milliseconds. */
  readonly now: () => number
  readonly serve: (call: GrpcCall) => void
}

/** Enough for a token of maximum length and the client's other headers. */
const HEADER_BYTES = 64 * 1024
const HEADER_LINES = 128
/** How many bytes all streams together may send before any is read. */
const CONNECTION_WINDOW = 4 * DEFAULT_WINDOW
const ABUSE_BUDGET = { burst: 1_000, perSecond: 100 }
/** Budget for streams that the client resets: so many at once, then so many per second (CVE-2023-44487). */
const RESETS = { burst: 200, perSecond: 20 }
/** Time for the last frames of a closing connection. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

export class GrpcConnection implements Http2ConnectionUser {
  readonly #http2: Http2Connection
  readonly #options: GrpcConnectionOptions
  readonly #resets: TokenBucket
  #preface = 0
  #draining = false
  /** When data last arrived, and since when there is no stream. */
  #heardAt: number
  #idleSince: number
  /** When an unanswered PING was sent. */
  #pingedAt: number | undefined

  constructor(options: GrpcConnectionOptions) {
    this.#http2 = new Http2Connection(
      {
        socket: options.connection.socket,
        server: true,
        headerBytes: HEADER_BYTES,
        headerLines: HEADER_LINES,
        streamWindow: DEFAULT_WINDOW,
        connectionWindow: CONNECTION_WINDOW,
        assumedStreams: 0,
        // A few heads are written in days, so a table is not worth its memory.
        writtenTable: 0,
        abuseBudget: ABUSE_BUDGET,
      },
      this,
    )
    this.#options = options
    const now = options.now()
    this.#heardAt = now
    this.#idleSince = now
    this.#resets = new TokenBucket(RESETS.burst, RESETS.perSecond, now)
  }

  start(): void {
    const { socket, output } = this.#http2
    const isShared = readIntoShared(socket, (bytes, length) => this.#feed(bytes, length))
    if (!isShared) socket.on("data", bytes => this.#feed(bytes, bytes.length))
    socket.on("drain", () => this.#http2.drained())
    const gone = (): void => this.#http2.abandon()
    socket.on("end", gone)
    socket.on("close", gone)
    output.text(
      settingsText([
        // A connection has a few heads in its lifetime, and a table would keep the token in memory as long.
        [SETTING.headerTableSize, 0],
        [SETTING.maxConcurrentStreams, this.#options.limits.streamsPerConnection],
        [SETTING.maxHeaderListSize, HEADER_BYTES],
      ]) + windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    output.flush()
    if (!socket.isPaused()) socket.resume()
  }

  /** Runs periodically: pings silent peers, and closes connections that do not answer or have no streams. */
  checkLiveness(now: number): void {
    const { pingEveryMs, pingTimeoutMs, idleConnectionMs } = this.#options.limits
    if (this.#http2.failed) return
    if (this.#http2.streams.size === 0 && now - this.#idleSince >= idleConnectionMs) {
      this.drain()
    } else if (this.#pingedAt !== undefined) {
      if (now - this.#pingedAt >= pingTimeoutMs) this.#http2.socket.destroy()
    } else if (now - this.#heardAt >= pingEveryMs) {
      this.#pingedAt = now
      this.#http2.output.text(pingText(false, PING))
      this.#http2.output.flush()
    }
  }

  /** Open streams may complete; new ones must use another connection. */
  drain(): void {
    if (this.#draining || this.#http2.failed) return
    this.#draining = true
    this.#http2.goaway(this.#http2.lastStream, ERROR.none)
    if (this.#http2.streams.size === 0) this.#close()
  }

  opened(id: number, list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    const { limits, connection, serve } = this.#options
    if (this.#draining || this.#http2.streams.size >= limits.streamsPerConnection) {
      this.#http2.output.text(resetText(id, ERROR.refused))
      if (this.#http2.acknowledged) this.chargeReset()
      return
    }
    const head = readHead(list)
    if (this.#http2.streams.size === 0) connection.slot?.busy()
    const stream = this.#http2.open(id)
    stream.remoteEnded = ended
    if (head === "malformed") {
      this.#http2.streamError(stream, ERROR.protocol)
      return
    }
    if (typeof head === "number") {
      this.#http2.encoder.field(":status", String(head))
      stream.sendHeaders(this.#http2.encoder.finish(), true)
      if (!stream.over) stream.reset(ERROR.none)
      return
    }
    const call = new GrpcCall(stream, connection, head, ended, limits.messageBytes)
    stream.user = call
    if (error === undefined) serve(call)
    else call.finish("RESOURCE_EXHAUSTED", "the headers are larger than the limit")
  }

  finished(): void {
    if (this.#http2.streams.size > 0 || this.#http2.failed) return
    this.#options.connection.slot?.idle()
    this.#idleSince = this.#options.now()
    if (this.#draining) this.#close()
  }

  chargeReset(): void {
    // Fail closed: a peer that only causes work loses its connection, with everything on it.
    if (!this.#resets.take(this.#options.now())) this.#http2.fail(ERROR.calm, "too many streams thrown away")
  }

  goingAway(): void {
    // The client will open no further stream; nothing else follows from it.
  }

  settingsReceived(): void {
    // Nothing here waits for the peer's settings.
  }

  pinged(): void {
    // Any received data counts as a sign of life already.
  }

  closing(_code: ErrorCode): void {
    this.#linger()
  }

  isIdleStream(): boolean {
    // We open no streams, so no stream with an even id exists.
    return true
  }

  #feed(bytes: BorrowedBytes, length: number): void {
    if (this.#http2.failed) return
    let from = 0
    while (this.#preface < PREFACE.length && from < length) {
      if (bytes[from] !== PREFACE.charCodeAt(this.#preface)) {
        this.#http2.fail(ERROR.protocol, "no HTTP/2")
        return
      }
      this.#preface++
      from++
    }
    this.#heardAt = this.#options.now()
    this.#pingedAt = undefined
    this.#http2.receive(bytes, from, length)
  }

  #close(): void {
    this.#http2.failed = true
    this.#linger()
  }

  #linger(): void {
    this.#http2.socket.end()
    const cut = setTimeout(() => this.#http2.socket.destroy(), LINGER_MS).unref()
    this.#http2.socket.once("close", () => clearTimeout(cut))
  }
}
