// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of a client: requests one after the other, each given to an exchange, and what comes too early
// kept. The phases below are all there is to know about where it stands: what is read next, how long that may take, who may
// end it, and how it ends.

import {
  BodyReader,
  HeadScanner,
  Outbox,
  openWire,
  parseRequestHead,
  STEP,
  type Wire,
  type WireUser,
} from "@merlon/wire"
import { type Expiring, HTTP_FAULTS, type HttpFault, UNWATCHED } from "@merlon/wire/http"
import type { ByteHolder } from "@merlon/wire/limits"
import type { Accepted } from "../accept/accepted.js"
import type { DrainReason, LiveConnection } from "../accept/connections.js"
import type { Caller } from "../http/caller.js"
import { Exchange, unreadable } from "../http/exchange.js"
import { TOO_SLOW, UPSTREAM_REPLIES } from "../http/local-reply.js"
import { type ClientConnection, ResponseWriter } from "./response-writer.js"

/**
 * `head`: waits for a request or reads its head. `body`: reads the content of the request in hand. `waiting`: has it
 * all, and the response is not over. `unread`: there may be another request, and the client does not take what it was
 * answered. `discard`: the response is over, and the rest of a small request is read past.
 * `tunnel`: switched to another protocol, bytes pass. `linger`: has said all, and reads on for a moment so that the last
 * words are not lost with a reset (RFC 9112 section 9.6). `closed`: gone.
 */
type Phase = "head" | "body" | "waiting" | "unread" | "discard" | "tunnel" | "linger" | "closed"

/** How long an idle connection stays open for a last request once the Pod terminates. */
const DRAIN_IDLE_MS = 2_000
/** Content of a refused request up to this size is read past; beyond it the connection ends. */
const MAX_DISCARD = 64 * 1024
const LINGER_MS = 1_000
/** How soon the kernel asks a half-closed peer whether it is still there. */
const PROBE_AFTER_MS = 10_000

export class Downstream implements WireUser, ClientConnection, ByteHolder, Expiring, LiveConnection {
  readonly protocol = "http"
  readonly outbox: Outbox
  readonly #caller: Caller
  readonly #writer: ResponseWriter
  readonly #wire: Wire
  readonly #scanner: HeadScanner
  readonly #reader: BodyReader
  #phase: Phase = "head"
  #exchange: Exchange | undefined
  /** Came before its turn. */
  #backlog: Buffer | undefined
  #paused = true
  #peerEnded = false
  #draining = false
  /** The mode no longer takes what passes here; a request in flight may end, a tunnel would not. */
  #unwelcome = false
  deadline = 0
  heldBytes = 0
  heldSince = 0
  place = UNWATCHED
  readonly #leave: () => void

  constructor(caller: Caller) {
    const { limits, deadlines, connections } = caller.services
    this.#caller = caller
    this.#writer = new ResponseWriter(this)
    this.#scanner = new HeadScanner(limits.headerBytes, true)
    this.#reader = new BodyReader(limits.headerBytes, limits.headerLines, false)
    this.#wire = openWire(caller.accepted.socket, this)
    this.outbox = new Outbox(this.#wire.socket)
    this.#leave = connections.add(this)
    this.deadline = deadlines.after(limits.headerTimeoutMs)
    deadlines.watch(this)
  }

  get port(): number {
    return this.#caller.port
  }

  get plaintext(): boolean {
    return this.#caller.plaintext
  }

  get peer(): Accepted["connection"]["peer"] {
    return this.#caller.peer
  }

  get serial(): string | undefined {
    return this.#caller.serial
  }

  get chain(): Caller["chain"] {
    return this.#caller.chain
  }

  start(): void {
    const { head, socket } = this.#caller.accepted
    if (head.length > 0) this.#feed(head, 0, head.length, false)
    if (socket.destroyed) this.onClose()
    else if (socket.readableEnded) this.onEnd()
    else this.resumeReading()
  }

  drain(reason: DrainReason): void {
    const isIdle = this.#phase === "head" && !this.#scanner.begun
    if (reason === "termination") {
      if (isIdle) this.deadline = this.#caller.services.deadlines.after(DRAIN_IDLE_MS)
      return
    }
    this.#draining = true
    if (reason === "mode") {
      this.#unwelcome = true
      if (this.#phase === "tunnel") this.destroy()
    }
    if (isIdle) this.#close()
  }

  judgeAgain(): void {
    this.#exchange?.judgeAgain()
  }

  revoke(): void {
    const { gate, meters } = this.#caller.services
    const admission = gate.refuseRevoked()
    if (this.#exchange !== undefined) this.#exchange.endByChange(admission)
    else meters.endedByChange("http/1.1", admission.judgement.stage)
    this.destroy()
  }

  /** All callers together hold too much, and this one most. */
  evict(): void {
    this.#caller.services.meters.limitHit("unjudgedBytes")
    this.#scanner.reset()
    this.#backlog = undefined
    this.destroy()
  }

  destroy(): void {
    this.#wire.socket.destroy()
  }

  // From the wire.

  onBytes(bytes: Buffer, length: number): void {
    this.#feed(bytes, 0, length, this.#wire.shared)
  }

  onEnd(): void {
    this.#peerEnded = true
    switch (this.#phase) {
      case "head":
        if (this.#scanner.begun) this.destroy()
        else this.#close()
        return
      case "waiting":
        // It may have gone for good, which only a probe can tell before the response is written.
        this.#wire.socket.setKeepAlive(true, PROBE_AFTER_MS)
        return
      case "unread":
        // What it asked before it ended is answered once there is room.
        return
      case "tunnel":
        this.#writer.tunnelEnd()
        return
      case "body":
        this.destroy()
        return
      case "discard":
        this.#close()
        return
      case "linger":
        if (this.#wire.socket.writableFinished) this.destroy()
        return
      case "closed":
    }
  }

  onDrain(): void {
    if (this.#phase === "tunnel") this.touch()
    if (this.#phase === "unread") this.#readOn()
    this.#exchange?.drained()
  }

  onClose(): void {
    if (this.#phase === "closed") return
    this.#phase = "closed"
    this.#caller.services.deadlines.unwatch(this)
    this.#leave()
    this.#caller.services.connections.unjudged.holds(this, 0)
    this.#exchange?.abort()
    this.#exchange = undefined
  }

  // From the exchange.

  /** Whether the connection may carry another request, for all that is not the request's own. */
  get mayGoOn(): boolean {
    if (this.#draining || this.#phase === "closed") return false
    // What was sent ahead of this response is answered too; the last response says that the connection ends.
    if (this.#caller.services.connections.draining && this.#backlog === undefined) return false
    return !this.#peerEnded || this.#backlog !== undefined
  }

  /** Whether the rest of the request in hand is so little that it can be read past. */
  get canFinishRequest(): boolean {
    if (this.#exchange === undefined || this.#exchange.requestDone) return true
    // RFC 9110 section 10.1.1: who awaits 100 may or may not send the content after another answer.
    return !this.#exchange.head.expectsContinue && this.#reader.remaining <= MAX_DISCARD
  }

  resumeReading(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#wire.socket.resume()
  }

  exchangeOver(keepAlive: boolean): void {
    const requestDone = this.#exchange?.requestDone ?? true
    this.#exchange = undefined
    if (!keepAlive || this.#draining) {
      this.#close()
      return
    }
    this.resumeReading()
    if (requestDone) {
      this.#awaitHead()
      this.#feedBacklog()
    } else {
      this.#phase = "discard"
      this.touch()
    }
  }

  beginTunnel(): void {
    this.#phase = "tunnel"
    // Fail closed: asked for under the old mode, it would live on under the new one.
    if (this.#unwelcome) {
      this.destroy()
      return
    }
    this.touch()
    this.resumeReading()
    const early = this.#backlog
    this.#backlog = undefined
    if (early !== undefined) this.#feed(early, 0, early.length, false)
    if (this.#peerEnded) this.#writer.tunnelEnd()
  }

  /** The application has said all it wants to. */
  endTunnel(): void {
    this.outbox.flush()
    this.#wire.socket.end()
  }

  // Reading.

  #feed(bytes: Buffer, from: number, to: number, shared: boolean): void {
    let at = from
    while (at >= 0) at = this.#step(bytes, at, to, shared)
    this.#countHeld()
    const exchange = this.#exchange
    if (exchange === undefined) return
    exchange.flush()
    if (exchange.full && (this.#phase === "body" || this.#phase === "tunnel")) this.#pauseReading()
  }

  #countHeld(): void {
    const held = this.#scanner.held + this.#reader.held + (this.#backlog?.length ?? 0)
    if (held !== this.heldBytes && this.#phase !== "closed")
      this.#caller.services.connections.unjudged.holds(this, held)
  }

  /** Where to go on; -1 once there is nothing to go on with. */
  #step(bytes: Buffer, at: number, to: number, shared: boolean): number {
    switch (this.#phase) {
      case "head":
        if (at < to && this.outbox.full) return this.#awaitReader(at)
        return at < to ? this.#readHead(bytes, at, to) : -1
      case "body":
        return this.#readBody(bytes, at, to, shared)
      case "waiting":
      case "unread":
        if (at < to) this.#keep(bytes, at, to, shared)
        return -1
      case "discard":
        return this.#discard(bytes, at, to)
      case "tunnel":
        this.#exchange?.content(bytes, at, to, shared)
        this.touch()
        return -1
      case "linger":
      case "closed":
        return -1
    }
  }

  /** Who asks and does not read would have us keep one answer after the other. */
  #awaitReader(at: number): number {
    this.#phase = "unread"
    this.touch()
    this.#pauseReading()
    return at
  }

  /** The client has taken what it was answered. */
  #readOn(): void {
    this.resumeReading()
    this.#awaitHead()
    this.#feedBacklog()
  }

  #readHead(bytes: Buffer, at: number, to: number): number {
    const { limits, deadlines } = this.#caller.services
    const scanner = this.#scanner
    const fresh = !scanner.begun
    const after = scanner.scan(bytes, at, to)
    if (after === -1) {
      if (fresh) this.deadline = deadlines.after(limits.headerTimeoutMs)
      return -1
    }
    const head = after === -2 ? scanner.fault : parseRequestHead(scanner.text, limits.headerLines, scanner.printable)
    if (typeof head === "string") {
      this.#malformed(head)
      return -1
    }
    const exchange = new Exchange(this.#caller, this.#writer, head)
    this.#exchange = exchange
    this.#writer.begin(exchange)
    this.#reader.begin(head.framing)
    switch (exchange.begin()) {
      case "forwarded":
        this.#phase = "body"
        if (head.framing.kind !== "none") this.touch()
        return after
      case "refused":
        return this.#refuse(exchange, bytes, after, to)
      case "closed":
        // The mode no longer takes this connection: it ends as if it had never been accepted.
        exchange.abort()
        this.#exchange = undefined
        this.destroy()
        return -1
    }
  }

  #readBody(bytes: Buffer, at: number, to: number, shared: boolean): number {
    const exchange = this.#exchange
    if (exchange === undefined) return -1
    const step = this.#reader.read(bytes, at, to)
    if (step === STEP.data) {
      exchange.content(bytes, this.#reader.start, this.#reader.end, shared)
      this.touch()
      return this.#reader.next
    }
    if (step === STEP.done) {
      this.#phase = "waiting"
      if (!exchange.responseStarted) this.deadline = 0
      exchange.requestEnd(this.#reader.trailers)
      return this.#reader.next
    }
    if (step === STEP.fault) {
      // The application has been given half a request; it must not take it for a whole one.
      if (exchange.responseStarted) this.destroy()
      else exchange.refuseContent(this.#reader.fault)
    }
    return -1
  }

  /** Answers a request that is not forwarded, after what is here of its content. */
  #refuse(exchange: Exchange, bytes: Buffer, from: number, to: number): number {
    const next = this.#skip(bytes, from, to)
    if (next >= 0) exchange.requestDone = true
    exchange.refuse()
    return next
  }

  #discard(bytes: Buffer, at: number, to: number): number {
    const next = this.#skip(bytes, at, to)
    if (next < 0) {
      this.touch()
      return -1
    }
    this.#awaitHead()
    return next
  }

  /** Where the request ends; -1 where it does not end here. */
  #skip(bytes: Buffer, from: number, to: number): number {
    let at = from
    for (;;) {
      const step = this.#reader.read(bytes, at, to)
      at = this.#reader.next
      if (step === STEP.done) return at
      if (step !== STEP.data) return -1
    }
  }

  #keep(bytes: Buffer, from: number, to: number, shared: boolean): void {
    const { limits, meters } = this.#caller.services
    const view = bytes.subarray(from, to)
    const part = shared ? Buffer.from(view) : view
    const backlog = this.#backlog === undefined ? part : Buffer.concat([this.#backlog, part])
    this.#backlog = backlog
    // A caller that sends ahead without end waits in the kernel, not here.
    if (backlog.length < limits.headerBytes && countHeads(backlog) < limits.pipelinedRequests) return
    meters.limitHit("pipelinedRequests")
    this.#pauseReading()
  }

  #feedBacklog(): void {
    const backlog = this.#backlog
    if (backlog === undefined) return
    this.#backlog = undefined
    this.#feed(backlog, 0, backlog.length, false)
    // What is still missing will not come.
    if (this.#peerEnded) this.onEnd()
  }

  #pauseReading(): void {
    if (this.#paused) return
    this.#paused = true
    this.#wire.socket.pause()
  }

  #awaitHead(): void {
    const { deadlines, limits } = this.#caller.services
    this.#phase = "head"
    const { draining } = this.#caller.services.connections
    this.deadline = deadlines.after(draining ? DRAIN_IDLE_MS : limits.keepAliveTimeoutMs)
    if (this.#draining || (this.#peerEnded && this.#backlog === undefined)) this.#close()
  }

  // Time.

  /** Something moved. */
  touch(): void {
    const { deadlines, limits } = this.#caller.services
    // Who does not take what there is for it is not idle but in the way.
    const patient = this.#phase === "tunnel" && !this.outbox.full
    const limit = patient ? limits.tunnelIdleTimeoutMs : limits.bodyIdleTimeoutMs
    this.deadline = deadlines.after(limit)
  }

  expire(): void {
    const { meters } = this.#caller.services
    switch (this.#phase) {
      case "head":
        if (this.#scanner.begun) this.#tooSlow()
        else this.#close()
        return
      case "body":
        this.#stalled()
        return
      case "waiting":
      case "unread":
      case "discard":
        meters.limitHit("bodyIdleTimeoutMs")
        this.destroy()
        return
      case "tunnel":
        meters.limitHit(this.outbox.full ? "bodyIdleTimeoutMs" : "tunnelIdleTimeoutMs")
        this.destroy()
        return
      case "linger":
        this.destroy()
        return
      case "closed":
    }
  }

  #tooSlow(): void {
    this.#caller.services.meters.limitHit("headerTimeoutMs")
    this.#answerUnread(408, "the request's headers took too long")
  }

  #stalled(): void {
    this.#caller.services.meters.limitHit("bodyIdleTimeoutMs")
    const exchange = this.#exchange
    if (exchange === undefined || exchange.responseStarted) {
      this.destroy()
      return
    }
    this.#draining = true
    // Either the client does not send, or the application does not take it.
    if (exchange.full) exchange.reply(UPSTREAM_REPLIES["response-timeout"])
    else exchange.reply(TOO_SLOW)
  }

  // The end.

  #malformed(fault: HttpFault): void {
    const { meters } = this.#caller.services
    if (fault === "head-too-large") meters.limitHit("headerBytes")
    if (fault === "too-many-headers") meters.limitHit("headerLines")
    const { status, text } = HTTP_FAULTS[fault]
    this.#answerUnread(status, text)
  }

  /** Answers something that could not be read as a request, and ends: where the next would begin nobody knows. */
  #answerUnread(status: number, body: string): void {
    this.#writer.replyUnread(unreadable(this.#caller, "http/1.1", status, body))
    this.#close()
  }

  #close(): void {
    if (this.#phase === "closed" || this.#phase === "linger") return
    const { socket } = this.#wire
    const { deadlines, limits } = this.#caller.services
    this.#phase = "linger"
    this.#backlog = undefined
    this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    this.outbox.flush()
    socket.end(() => {
      // Only now has everything left; a client that reads slowly has had its time until here.
      this.deadline = deadlines.after(LINGER_MS)
      if (this.#peerEnded) socket.destroy()
    })
    this.resumeReading()
  }
}

const HEAD_END = Buffer.from("\r\n\r\n")

/** How many requests wait, at least where they have no content. */
function countHeads(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(HEAD_END); at >= 0; at = bytes.indexOf(HEAD_END, at + HEAD_END.length)) count++
  return count
}
