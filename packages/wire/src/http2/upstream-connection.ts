// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection to a server, over TLS or in plaintext with prior knowledge (RFC 9113 section 3.3). A response
// is only held back by its stream's window, never by the connection's: one client that does not read must not starve
// the others.

import { type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { UpstreamOptions } from "../http/upstream.js"
import { type BorrowedBytes, openWire, type WireUser } from "../sockets/borrowed-reads.js"
import { whenReady } from "../sockets/ready.js"
import { Connection } from "./connection.js"
import type { ConnectionUser } from "./connection-user.js"
import { DEFAULT_WINDOW, ERROR, type ErrorCode, MAX_STREAM, MAX_WINDOW, PREFACE, SETTING } from "./frame.js"
import { pingText, settingsText, windowUpdateText } from "./frame-writer.js"
import { ResponseHeads } from "./response-head.js"
import type { Stream, StreamUser } from "./stream.js"

const STREAM_WINDOW = 128 * 1024
/** Concurrent streams for a server that has not announced a limit, and the maximum for one that has. */
const ASSUMED_STREAMS = 100
const MAX_STREAMS = 1_000
const PING = "merlon\0\0"
/** Servers are trusted, but may send much that is no longer wanted. */
const ABUSE_BUDGET = { burst: 100_000, perSecond: 10_000 }

/** The interface of the pool that the connection belongs to. */
export interface ConnectionOwner {
  closed(connection: UpstreamConnection): void
  /** The connection has room for another request. */
  roomAvailable(): void
}

export class UpstreamConnection implements ConnectionUser, WireUser, Expiring {
  readonly #http2: Connection
  readonly #options: UpstreamOptions
  readonly #owner: ConnectionOwner
  readonly #mostStreams: number
  #nextStream = 1
  /** Callbacks that wait for the server's settings; undefined once they have arrived. */
  #awaiting: (() => void)[] | undefined = []
  #goingAway = false
  /** Whether a PING is unanswered. */
  #probed = false
  readonly heads = new ResponseHeads()
  #error: Error | undefined
  connected = false
  timedOut = false
  deadline: number
  place = UNWATCHED

  constructor(options: UpstreamOptions, owner: ConnectionOwner) {
    const { connect, limits, deadlines, shared } = options
    const socket = connect({ allowHalfOpen: false })
    this.#http2 = new Connection(
      {
        socket,
        server: false,
        headerBytes: limits.headerBytes,
        headerLines: limits.headerLines + 1,
        streamWindow: STREAM_WINDOW,
        connectionWindow: MAX_WINDOW,
        assumedStreams: ASSUMED_STREAMS,
        abuseBudget: ABUSE_BUDGET,
      },
      this,
    )
    this.#options = options
    this.#owner = owner
    this.#mostStreams = shared?.requestsPerConnection || Number.POSITIVE_INFINITY
    openWire(socket, this)
    socket.setNoDelay(true)
    socket.once("error", error => {
      this.#error = error
    })
    whenReady(socket, () => {
      this.connected = true
      this.#rest()
    })
    socket.resume()
    this.#http2.output.text(
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

  get encoder(): Connection["encoder"] {
    return this.#http2.encoder
  }

  get peerSettings(): Connection["peerSettings"] {
    return this.#http2.peerSettings
  }

  get failed(): boolean {
    return this.#http2.failed
  }

  flushSoon(): void {
    this.#http2.flushSoon()
  }

  get hasRoom(): boolean {
    const most = Math.min(this.#http2.peerSettings.maxConcurrentStreams, MAX_STREAMS)
    return !this.#http2.failed && !this.#goingAway && this.#http2.streams.size < most && this.#nextStream < MAX_STREAM
  }

  /** Opens a stream. */
  begin(user: StreamUser): Stream {
    const stream = this.#http2.open(this.#nextStream)
    this.#nextStream += 2
    stream.user = user
    // Our streams have odd ids. The connection closes when the last stream is over.
    if (this.#nextStream > 2 * this.#mostStreams) this.#goingAway = true
    // If other streams are open, the deadline stays: otherwise steady new requests would hide a server that has
    // vanished.
    if (this.connected && this.#http2.streams.size === 1) this.#scheduleProbe()
    return stream
  }

  /** Whether the server's settings have not arrived yet. */
  get awaitsSettings(): boolean {
    return this.#awaiting !== undefined
  }

  /** Calls back when the server's settings have arrived, or the connection is gone. */
  onSettings(notify: () => void): void {
    this.#awaiting?.push(notify)
  }

  /** Closes once no stream is open. */
  close(): void {
    this.#goingAway = true
    if (this.#http2.streams.size === 0) this.#end()
  }

  expire(): void {
    if (this.connected) {
      if (this.#http2.streams.size === 0) this.close()
      else this.#probe()
      return
    }
    this.timedOut = true
    this.#options.observer?.limitHit?.("connectTimeoutMs")
    this.destroy()
  }

  /** Closes now; requests on it fail. */
  destroy(): void {
    this.#http2.socket.destroy()
  }

  // Events of the socket.

  onBytes(bytes: BorrowedBytes, length: number): void {
    if (this.connected && this.#http2.streams.size > 0) this.#scheduleProbe()
    this.#http2.receive(bytes, 0, length)
  }

  onEnd(): void {
    // The socket closes by itself: half-open is not enabled.
  }

  onDrain(): void {
    this.#http2.drained()
  }

  onClose(): void {
    const { observer, deadlines } = this.#options
    if (!this.connected) observer?.connectFailed?.(this.#error)
    this.#owner.closed(this)
    deadlines.unwatch(this)
    this.#http2.abandon()
    this.settingsReceived()
  }

  // Events of the connection.

  opened(): void {
    // INVARIANT: our settings disable push and are sent first, so a server may never open a stream.
    this.#http2.fail(ERROR.protocol, "the server opens no streams")
  }

  goingAway(lastStream: number): void {
    this.#goingAway = true
    for (const stream of this.#http2.streams.all()) {
      if (stream.id <= lastStream) continue
      stream.finish(false)
      // RFC 9113 section 6.8: the server has not processed the stream.
      stream.user?.onReset(ERROR.refused)
    }
    if (this.#http2.streams.size === 0) this.#end()
  }

  finished(): void {
    if (this.#http2.streams.size === 0 && !this.#http2.failed) {
      if (this.#goingAway) this.#end()
      else this.#rest()
    }
    if (this.hasRoom) this.#owner.roomAvailable()
  }

  chargeReset(): void {}

  settingsReceived(): void {
    const awaiting = this.#awaiting ?? []
    this.#awaiting = undefined
    for (const notify of awaiting) notify()
    if (this.hasRoom) this.#owner.roomAvailable()
  }

  pinged(): void {}

  closing(_code: ErrorCode): void {
    this.#http2.socket.destroySoon()
  }

  isIdleStream(id: number): boolean {
    return id >= this.#nextStream
  }

  #rest(): void {
    const { deadlines, limits } = this.#options
    if (!this.connected) return
    if (this.#http2.streams.size === 0) this.deadline = deadlines.after(limits.keepAliveTimeoutMs)
    else this.#scheduleProbe()
  }

  #scheduleProbe(): void {
    const { deadlines, probeAfterMs = 0 } = this.#options
    this.#probed = false
    this.deadline = deadlines.after(probeAfterMs)
  }

  /**
   * The connection may be half open: its server has vanished, and nothing will ever arrive (RFC 9293 section 3.5.1).
   */
  #probe(): void {
    if (this.#probed) {
      this.destroy()
      return
    }
    this.#scheduleProbe()
    this.#probed = true
    this.#http2.output.text(pingText(false, PING))
    this.#http2.output.flush()
  }

  #end(): void {
    if (this.#http2.failed) return
    this.#http2.failed = true
    // `end` would write what is waiting before the peer has proved its identity.
    if (!this.connected) {
      this.destroy()
      return
    }
    this.#http2.goaway(0, ERROR.none)
    this.#http2.socket.destroySoon()
  }
}
