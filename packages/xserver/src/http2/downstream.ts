// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection of a client: what it may use, how long it may be idle, and how it ends. Each of its streams is a
// request, which a `ResponseWriter` carries.

import {
  Http2Connection as Connection,
  type Http2ConnectionUser as ConnectionUser,
  DEFAULT_WINDOW,
  HTTP2_ERROR as ERROR,
  type Http2ErrorCode as ErrorCode,
  type Http2Field as Field,
  type HeaderListFault as ListFault,
  MAX_STREAM,
  openWire,
  HTTP2_PREFACE as PREFACE,
  pingText,
  resetText,
  HTTP2_SETTING as SETTING,
  type Http2Stream as Stream,
  settingsText,
  type Wire,
  type WireUser,
  windowUpdateText,
} from "@merlon/wire"
import { type Expiring, UNWATCHED } from "@merlon/wire/http"
import type { ByteHolder, TokenBucket } from "@merlon/wire/limits"
import type { DrainReason, LiveConnection } from "../accept/connections.js"
import type { Caller } from "../http/caller.js"
import { type ClientConnection, ResponseWriter } from "./response-writer.js"

/** What one stream, and what all together, may send us beyond what has been forwarded. */
const STREAM_WINDOW = 256 * 1024
const CONNECTION_WINDOW = 1024 * 1024
const CHORES = { burst: 1_000, perSecond: 100 }
/** Pseudo-headers are not header lines. */
const PSEUDO = 5
/** For the last frames of a connection that ends. */
const LINGER_MS = 1_000
const PING = "merlon\0\0"

export class Downstream implements ConnectionUser, WireUser, Expiring, LiveConnection, ClientConnection, ByteHolder {
  readonly #http2: Connection
  readonly #caller: Caller
  readonly #resets: TokenBucket
  readonly #wire: Wire
  readonly #leave: () => void
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

  constructor(caller: Caller, resets: TokenBucket) {
    const { limits, deadlines, connections } = caller.services
    const { socket } = caller.accepted
    this.#http2 = new Connection(
      {
        socket,
        server: true,
        headerBytes: limits.headerBytes,
        headerLines: limits.headerLines + PSEUDO,
        streamWindow: STREAM_WINDOW,
        connectionWindow: CONNECTION_WINDOW,
        assumedStreams: 0,
        chores: CHORES,
      },
      this,
    )
    this.#caller = caller
    this.#resets = resets
    this.#wire = openWire(socket, this)
    this.#leave = connections.add(this)
    deadlines.watch(this)
    this.#rest()
  }

  readonly protocol = "http"

  get port(): number {
    return this.#caller.port
  }

  get plaintext(): boolean {
    return this.#caller.plaintext
  }

  get peer(): Caller["peer"] {
    return this.#caller.peer
  }

  get serial(): string | undefined {
    return this.#caller.serial
  }

  get chain(): Caller["chain"] {
    return this.#caller.chain
  }

  start(): void {
    const { limits } = this.#caller.services
    const { head } = this.#caller.accepted
    this.#http2.outbox.text(
      settingsText([
        [SETTING.maxConcurrentStreams, limits.streams],
        [SETTING.initialWindowSize, STREAM_WINDOW],
        [SETTING.maxHeaderListSize, limits.headerBytes],
        [SETTING.enableConnectProtocol, 1],
      ]) + windowUpdateText(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    )
    this.#http2.outbox.flush()
    if (head.length > 0) this.#feed(head, head.length, false)
    if (this.#http2.socket.destroyed) this.onClose()
    else if (this.#http2.socket.readableEnded) this.onEnd()
    else if (!this.#deaf) this.#http2.socket.resume()
  }

  // From the wire.

  onBytes(bytes: Buffer, length: number): void {
    this.#feed(bytes, length, this.#wire.shared)
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
    this.#http2.abandon()
    this.#caller.services.connections.unjudged.holds(this, 0)
    this.#caller.services.deadlines.unwatch(this)
    this.#leave()
  }

  // From whoever ends connections.

  /** GOAWAY: streams that are open end in their own time, further ones belong on another connection. */
  drain(reason: DrainReason): void {
    if (this.#draining || this.#http2.failed) return
    this.#draining = true
    const isIdle = this.#http2.streams.size === 0
    if (isIdle && reason !== "termination") {
      this.#lastWords()
      return
    }
    // A client that does not answer has sent nothing either.
    if (isIdle) this.deadline = this.#caller.services.deadlines.after(LINGER_MS)
    // RFC 9113 section 6.8: requests may be on their way; which is the last is told once it has heard that it should stop.
    this.#http2.goaway(MAX_STREAM, ERROR.none)
    this.#http2.outbox.text(pingText(false, PING))
    this.#http2.outbox.flush()
  }

  /** All callers together hold too much, and this one most. */
  evict(): void {
    this.#caller.services.meters.limitHit("unjudgedBytes")
    this.destroy()
  }

  judgeAgain(): void {
    for (const writer of this.#requests()) writer.judgeAgain()
  }

  revoke(): void {
    const { gate, meters } = this.#caller.services
    const admission = gate.refuseRevoked()
    if (this.#http2.streams.size === 0) meters.endedByChange("h2", admission.judgement.stage)
    for (const writer of this.#requests()) writer.endByChange(admission)
    this.destroy()
  }

  destroy(): void {
    this.#http2.socket.destroy()
  }

  /** Without a stream for too long: it drains, and ends if that does not end it. With streams it must show that it lives. */
  expire(): void {
    const { deadlines, limits } = this.#caller.services
    if (this.#http2.failed || this.#ending || this.#asked) {
      this.destroy()
    } else if (this.#http2.streams.size === 0) {
      if (this.#draining) this.#lastWords()
      else this.drain("shutdown")
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
    this.drain("mode")
  }

  wasted(): void {
    // Fail closed: a peer that only makes work loses its connection, with everything on it.
    if (this.#resets.take(performance.now())) return
    this.#caller.services.meters.limitHit("streams")
    this.#http2.fail(ERROR.calm, "too many streams thrown away")
  }

  // From the connection.

  opened(id: number, list: readonly Field[], fault: ListFault | undefined, ended: boolean): void {
    const { limits, meters } = this.#caller.services
    if (this.#ending || this.#http2.streams.size >= limits.streams) {
      this.#http2.outbox.text(resetText(id, ERROR.refused))
      if (this.#http2.acknowledged) {
        meters.limitHit("streams")
        this.wasted()
      }
      return
    }
    const stream = this.#http2.open(id)
    const writer = new ResponseWriter(this, this.#caller, stream)
    stream.user = writer
    stream.remoteEnded = ended
    this.#alive()
    // A connection that was opened while the Pod terminates serves what it was opened for, and no more.
    if (this.#caller.services.connections.draining) this.drain("termination")
    writer.begin(list, fault, ended)
  }

  goingAway(): void {
    // It will open no further stream, which is all there is to know.
  }

  finished({ localEnded, remoteEnded }: Stream): void {
    if (localEnded && remoteEnded) this.#resets.credit(RETURN)
    if (this.#http2.streams.size > 0 || this.#http2.failed) return
    if (this.#ending) this.#lastWords()
    // Until it has heard that it should stop, further requests may be on their way.
    else if (this.#draining) this.deadline = this.#caller.services.deadlines.after(LINGER_MS)
    else this.#rest()
  }

  settled(): void {
    // Nobody waits for what a client can take.
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
    const { deadlines, meters } = this.#caller.services
    if (code === ERROR.calm) meters.limitHit("streams")
    this.deadline = deadlines.after(LINGER_MS)
    // Whoever floods is not read any further; others may need to be, for the last words not to be lost with a reset.
    this.#deaf = code === ERROR.calm
    if (this.#deaf) this.#http2.socket.pause()
    this.#http2.socket.end()
  }

  idleToUs(): boolean {
    // We open none: every even number is one that nobody has opened.
    return true
  }

  #requests(): readonly ResponseWriter[] {
    return this.#http2.streams.all().flatMap(({ user }) => (user instanceof ResponseWriter ? [user] : []))
  }

  #feed(bytes: Buffer, length: number, shared: boolean): void {
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
    this.#http2.receive(bytes, from, length, shared)
    const { held } = this.#http2
    if (held !== this.heldBytes && !this.#http2.failed) this.#caller.services.connections.unjudged.holds(this, held)
  }

  #lastWords(): void {
    this.#ending = true
    this.#http2.goaway(this.#http2.lastStream, ERROR.none)
    this.#http2.failed = true
    this.deadline = this.#caller.services.deadlines.after(LINGER_MS)
    this.#http2.socket.end()
  }

  #rest(): void {
    const { deadlines, limits } = this.#caller.services
    this.deadline = deadlines.after(limits.keepAliveTimeoutMs)
  }

  #alive(): void {
    const { deadlines, limits } = this.#caller.services
    if (this.#http2.streams.size > 0) this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
  }
}

/** What a request that is over gives back: for every two, one more may be thrown away. */
const RETURN = 0.5
