// SPDX-License-Identifier: Apache-2.0
// One client's HTTP/2 connection, each of whose streams is a call: how many there may be, whether the client still lives,
// and how the connection ends.

import type { Http2Field as Field, HeaderListFault as ListFault } from "@merlon/wire"
import {
  DEFAULT_WINDOW,
  HTTP2_ERROR as ERROR,
  type Http2ErrorCode as ErrorCode,
  Http2Connection,
  HTTP2_PREFACE as PREFACE,
  pingText,
  readIntoShared,
  resetText,
  HTTP2_SETTING as SETTING,
  settingsText,
  TokenBucket,
  windowUpdateText,
} from "@merlon/wire"
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

/** A token of the longest kind, and what else a client may say of itself. */
const HEADER_BYTES = 64 * 1024
const HEADER_LINES = 128
/** What all streams together may bring before anybody has looked at it. */
const CONNECTION_WINDOW = 4 * DEFAULT_WINDOW
const CHORES = { burst: 1_000, perSecond: 100 }
/** Streams thrown away at once, and per second from then on (CVE-2023-44487). */
const RESETS = { burst: 200, perSecond: 20 }
/** For the last frames of a connection that ends. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

export class GrpcConnection extends Http2Connection {
  readonly #options: GrpcConnectionOptions
  readonly #resets: TokenBucket
  #preface = 0
  #draining = false
  /** When it last said anything, and when it had no stream. */
  #heardAt: number
  #idleSince: number
  /** Asked whether it still lives. */
  #askedAt: number | undefined

  constructor(options: GrpcConnectionOptions) {
    super({
      socket: options.connection.socket,
      server: true,
      headerBytes: HEADER_BYTES,
      headerLines: HEADER_LINES,
      streamWindow: DEFAULT_WINDOW,
      connectionWindow: CONNECTION_WINDOW,
      assumedStreams: 0,
      // A handful of heads in days: a table would lie there for as long.
      writtenTable: 0,
      chores: CHORES,
    })
    this.#options = options
    const now = options.now()
    this.#heardAt = now
    this.#idleSince = now
    this.#resets = new TokenBucket(RESETS.burst, RESETS.perSecond, now)
  }

  start(): void {
    const { socket, outbox } = this
    const isShared = readIntoShared(socket, (bytes, length) => this.#feed(bytes, length, true))
    if (!isShared) socket.on("data", bytes => this.#feed(bytes, bytes.length, false))
    socket.on("drain", () => this.drained())
    const gone = (): void => this.abandon()
    socket.on("end", gone)
    socket.on("close", gone)
    outbox.text(
      settingsText([
        // A connection has a handful of heads in its life, and a table of theirs would hold its token for as long.
        [SETTING.headerTableSize, 0],
        [SETTING.maxConcurrentStreams, this.#options.limits.streamsPerConnection],
        [SETTING.maxHeaderListSize, HEADER_BYTES],
      ]) + windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    outbox.flush()
    if (!socket.isPaused()) socket.resume()
  }

  /** Now and then: whoever has been silent is asked whether it lives, and whoever does not answer, or wants nothing, goes. */
  look(now: number): void {
    const { pingEveryMs, pingTimeoutMs, idleConnectionMs } = this.#options.limits
    if (this.failed) return
    if (this.streams.size === 0 && now - this.#idleSince >= idleConnectionMs) {
      this.drain()
    } else if (this.#askedAt !== undefined) {
      if (now - this.#askedAt >= pingTimeoutMs) this.socket.destroy()
    } else if (now - this.#heardAt >= pingEveryMs) {
      this.#askedAt = now
      this.outbox.text(pingText(false, PING))
      this.outbox.flush()
    }
  }

  /** Streams that are open end in their own time; further ones belong on another connection. */
  drain(): void {
    if (this.#draining || this.failed) return
    this.#draining = true
    this.goaway(this.lastStream, ERROR.none)
    if (this.streams.size === 0) this.#close()
  }

  protected override opened(id: number, list: readonly Field[], fault: ListFault | undefined, ended: boolean): void {
    const { limits, connection, serve } = this.#options
    if (this.#draining || this.streams.size >= limits.streamsPerConnection) {
      this.outbox.text(resetText(id, ERROR.refused))
      if (this.acknowledged) this.wasted()
      return
    }
    const head = readHead(list)
    if (this.streams.size === 0) connection.slot?.busy()
    const stream = this.open(id)
    stream.remoteEnded = ended
    if (head === "malformed") {
      this.streamError(stream, ERROR.protocol)
      return
    }
    if (typeof head === "number") {
      this.encoder.field(":status", String(head))
      stream.sendHeaders(this.encoder.finish(), true)
      if (!stream.over) stream.reset(ERROR.none)
      return
    }
    const call = new GrpcCall(stream, connection, head, ended, limits.messageBytes)
    stream.user = call
    if (fault === undefined) serve(call)
    else call.finish("RESOURCE_EXHAUSTED", "the headers are larger than is taken here")
  }

  protected override finished(): void {
    if (this.streams.size > 0 || this.failed) return
    this.#options.connection.slot?.idle()
    this.#idleSince = this.#options.now()
    if (this.#draining) this.#close()
  }

  protected override wasted(): void {
    // Fails closed: a peer that only makes work loses its connection, with everything on it.
    if (!this.#resets.take(this.#options.now())) this.fail(ERROR.calm, "too many streams thrown away")
  }

  protected override goingAway(): void {
    // It will open no further stream, which is all there is to know.
  }

  protected override settled(): void {
    // Nobody waits for what a client can take.
  }

  protected override pinged(): void {
    // That it was heard is all there is to know.
  }

  protected override closing(_code: ErrorCode): void {
    this.#linger()
  }

  protected override idleToUs(): boolean {
    // We open none: every even number is one that nobody has opened.
    return true
  }

  #feed(bytes: Buffer, length: number, isShared: boolean): void {
    if (this.failed) return
    let from = 0
    while (this.#preface < PREFACE.length && from < length) {
      if (bytes[from] !== PREFACE.charCodeAt(this.#preface)) {
        this.fail(ERROR.protocol, "no HTTP/2")
        return
      }
      this.#preface++
      from++
    }
    this.#heardAt = this.#options.now()
    this.#askedAt = undefined
    this.receive(bytes, from, length, isShared)
  }

  #close(): void {
    this.failed = true
    this.#linger()
  }

  #linger(): void {
    this.socket.end()
    const cut = setTimeout(() => this.socket.destroy(), LINGER_MS).unref()
    this.socket.once("close", () => clearTimeout(cut))
  }
}
