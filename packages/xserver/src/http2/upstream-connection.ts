// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection to the application, in clear and with prior knowledge (RFC 9113 section 3.3). Only a stream's own
// window holds its response back, never the connection's: one client that does not read must not starve the others.

import {
  Http2Connection as Connection,
  DEFAULT_WINDOW,
  type Deadlines,
  HTTP2_ERROR as ERROR,
  type Http2ErrorCode as ErrorCode,
  type Expiring,
  MAX_STREAM,
  MAX_WINDOW,
  HTTP2_PREFACE as PREFACE,
  READ_BUFFER,
  HTTP2_SETTING as SETTING,
  type Http2Stream as Stream,
  type Http2StreamUser as StreamUser,
  settingsText,
  UNWATCHED,
  windowUpdateText,
} from "@merlon/wire"
import type { UpstreamAddress } from "../config/application-port.js"
import { connectApplication } from "../http/connect-application.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import { ResponseHeads } from "./response-head.js"

export interface UpstreamOptions {
  readonly address: UpstreamAddress
  readonly limits: Limits
  readonly meters: Meters
  readonly deadlines: Deadlines
}

const STREAM_WINDOW = 128 * 1024
/** What an application that says nothing may be asked at once, and what one that says more is. */
const ASSUMED_STREAMS = 100
const MAX_STREAMS = 1_000
/** Applications are no enemies, but may answer much that nobody wants any more. */
const CHORES = { burst: 100_000, perSecond: 10_000 }

export class UpstreamConnection extends Connection implements Expiring {
  readonly #options: UpstreamOptions
  readonly #gone: (connection: UpstreamConnection) => void
  #nextStream = 1
  /** Undefined once the application has said what it can take. */
  #awaiting: (() => void)[] | undefined = []
  #goingAway = false
  readonly heads = new ResponseHeads()
  connected = false
  timedOut = false
  deadline: number
  place = UNWATCHED

  constructor(options: UpstreamOptions, gone: (connection: UpstreamConnection) => void) {
    const { address, limits, deadlines } = options
    const read = (length: number): boolean => {
      this.receive(READ_BUFFER, 0, length, true)
      return true
    }
    super({
      socket: connectApplication(address, limits.connectTimeoutMs, {
        noDelay: true,
        onread: { buffer: READ_BUFFER, callback: read },
      }),
      server: false,
      headerBytes: limits.headerBytes,
      headerLines: limits.headerLines + 1,
      streamWindow: STREAM_WINDOW,
      connectionWindow: MAX_WINDOW,
      assumedStreams: ASSUMED_STREAMS,
      chores: CHORES,
    })
    this.#options = options
    this.#gone = gone
    const { socket } = this
    socket.on("connect", () => {
      this.connected = true
      this.#rest()
    })
    socket.on("drain", () => this.drained())
    // The reason is of no use to anybody; `close` follows.
    socket.on("error", () => undefined)
    socket.on("close", () => this.#onClose())
    this.outbox.text(
      PREFACE +
        settingsText([
          [SETTING.enablePush, 0],
          [SETTING.initialWindowSize, STREAM_WINDOW],
          [SETTING.maxHeaderListSize, limits.headerBytes],
        ]) +
        windowUpdateText(0, MAX_WINDOW - DEFAULT_WINDOW),
    )
    this.deadline = deadlines.after(limits.connectTimeoutMs)
    deadlines.watch(this)
  }

  get hasRoom(): boolean {
    const most = Math.min(this.peerSettings.maxConcurrentStreams, MAX_STREAMS)
    return !this.failed && !this.#goingAway && this.streams.size < most && this.#nextStream < MAX_STREAM
  }

  /** A stream of ours. */
  begin(user: StreamUser): Stream {
    const stream = this.open(this.#nextStream)
    this.#nextStream += 2
    stream.user = user
    if (this.connected) this.deadline = 0
    return stream
  }

  /** Whether the application has yet to say what it can take. */
  get awaited(): boolean {
    return this.#awaiting !== undefined
  }

  /** Tells when it has, or has gone without. */
  whenSettled(tell: () => void): void {
    this.#awaiting?.push(tell)
  }

  /** Ends once it carries nothing. */
  close(): void {
    this.#goingAway = true
    if (this.streams.size === 0) this.#end()
  }

  expire(): void {
    if (this.connected) {
      this.close()
      return
    }
    this.timedOut = true
    this.#options.meters.limitHit("connectTimeoutMs")
    this.socket.destroy()
  }

  protected override opened(): void {
    // INVARIANT: with push disabled nobody opens a stream to us; the connection has said so before it comes here.
    this.fail(ERROR.protocol, "the application opens no streams")
  }

  protected override goingAway(lastStream: number): void {
    this.#goingAway = true
    for (const stream of this.streams.all()) {
      if (stream.id <= lastStream) continue
      stream.finish(false)
      // RFC 9113 section 6.8: it has not been looked at.
      stream.user?.onReset(ERROR.refused)
    }
    if (this.streams.size === 0) this.#end()
  }

  protected override finished(): void {
    if (this.streams.size > 0 || this.failed) return
    if (this.#goingAway) this.#end()
    else this.#rest()
  }

  protected override wasted(): void {}

  protected override settled(): void {
    const awaiting = this.#awaiting ?? []
    this.#awaiting = undefined
    for (const tell of awaiting) tell()
  }

  protected override pinged(): void {}

  protected override closing(_code: ErrorCode): void {
    this.socket.destroySoon()
  }

  protected override idleToUs(id: number): boolean {
    return id >= this.#nextStream
  }

  #rest(): void {
    const { deadlines, limits } = this.#options
    if (this.connected) this.deadline = this.streams.size === 0 ? deadlines.after(limits.keepAliveTimeoutMs) : 0
  }

  #end(): void {
    if (this.failed) return
    this.failed = true
    this.goaway(0, ERROR.none)
    this.socket.destroySoon()
  }

  #onClose(): void {
    this.#gone(this)
    this.#options.deadlines.unwatch(this)
    this.abandon()
    this.settled()
  }
}
