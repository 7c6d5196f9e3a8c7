// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of a client as it is read: requests one after the other, each given to an exchange, and what
// comes too early kept. The phases below are all there is to know about where it stands. How long it may take, and how it
// ends, is for the downstream to say.

import type { HttpFault } from "@merlon/wire"
import { BodyReader, HeadScanner, Outbox, openWire, STEP, type Wire, type WireUser } from "@merlon/wire"
import type { UnjudgedHolder } from "../accept/unjudged-bytes.js"
import type { Caller } from "../http/caller.js"
import { Exchange } from "../http/exchange.js"
import { parseRequestHead } from "./request-head.js"
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
export const DRAIN_IDLE_MS = 2_000
/** Content of a refused request up to this size is read past; beyond it the connection ends. */
const MAX_DISCARD = 64 * 1024

export abstract class Connection implements WireUser, ClientConnection, UnjudgedHolder {
  readonly outbox: Outbox
  protected readonly caller: Caller
  protected readonly writer: ResponseWriter
  protected readonly wire: Wire
  protected readonly scanner: HeadScanner
  readonly #reader: BodyReader
  protected phase: Phase = "head"
  protected exchange: Exchange | undefined
  /** Came before its turn. */
  protected backlog: Buffer | undefined
  #paused = true
  protected peerEnded = false
  protected draining = false
  /** The mode no longer takes what passes here; a request in flight may end, a tunnel would not. */
  protected unwelcome = false
  deadline = 0
  heldBytes = 0
  heldSince = 0

  constructor(caller: Caller) {
    const { limits } = caller.services
    this.caller = caller
    this.writer = new ResponseWriter(this)
    this.scanner = new HeadScanner(limits.headerBytes, true)
    this.#reader = new BodyReader(limits.headerBytes, limits.headerLines, false)
    this.wire = openWire(caller.accepted.socket, this)
    this.outbox = new Outbox(this.wire.socket)
  }

  abstract onEnd(): void
  abstract onDrain(): void
  abstract onClose(): void
  abstract evict(): void
  abstract touch(): void
  abstract destroy(): void
  /** Says what is left to say, and ends. */
  protected abstract close(): void
  /** What came is no request. */
  protected abstract malformed(fault: HttpFault): void

  onBytes(bytes: Buffer, length: number): void {
    this.feed(bytes, 0, length, this.wire.shared)
  }

  // From the exchange.

  /** Whether the connection may carry another request, for all that is not the request's own. */
  get mayGoOn(): boolean {
    if (this.draining || this.phase === "closed") return false
    // What was sent ahead of this response is answered too; the last response says that the connection ends.
    if (this.caller.services.connections.draining && this.backlog === undefined) return false
    return !this.peerEnded || this.backlog !== undefined
  }

  /** Whether the rest of the request in hand is so little that it can be read past. */
  get canFinishRequest(): boolean {
    if (this.exchange === undefined || this.exchange.requestDone) return true
    // RFC 9110 section 10.1.1: who awaits 100 may or may not send the content after another answer.
    return !this.exchange.head.expectsContinue && this.#reader.remaining <= MAX_DISCARD
  }

  resumeReading(): void {
    if (!this.#paused) return
    this.#paused = false
    this.wire.socket.resume()
  }

  exchangeOver(keepAlive: boolean): void {
    const requestDone = this.exchange?.requestDone ?? true
    this.exchange = undefined
    if (!keepAlive || this.draining) {
      this.close()
      return
    }
    this.resumeReading()
    if (requestDone) {
      this.#awaitHead()
      this.#feedBacklog()
    } else {
      this.phase = "discard"
      this.touch()
    }
  }

  beginTunnel(): void {
    this.phase = "tunnel"
    // Fail closed: asked for under the old mode, it would live on under the new one.
    if (this.unwelcome) {
      this.destroy()
      return
    }
    this.touch()
    this.resumeReading()
    const early = this.backlog
    this.backlog = undefined
    if (early !== undefined) this.feed(early, 0, early.length, false)
    if (this.peerEnded) this.writer.tunnelEnd()
  }

  /** The application has said all it wants to. */
  endTunnel(): void {
    this.outbox.flush()
    this.wire.socket.end()
  }

  // Reading.

  protected feed(bytes: Buffer, from: number, to: number, shared: boolean): void {
    let at = from
    while (at >= 0) at = this.#step(bytes, at, to, shared)
    this.#countHeld()
    const exchange = this.exchange
    if (exchange === undefined) return
    exchange.flush()
    if (exchange.full && (this.phase === "body" || this.phase === "tunnel")) this.#pauseReading()
  }

  #countHeld(): void {
    const held = this.scanner.held + this.#reader.held + (this.backlog?.length ?? 0)
    if (held !== this.heldBytes && this.phase !== "closed") this.caller.services.connections.unjudged.holds(this, held)
  }

  /** Where to go on; -1 once there is nothing to go on with. */
  #step(bytes: Buffer, at: number, to: number, shared: boolean): number {
    switch (this.phase) {
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
        this.exchange?.content(bytes, at, to, shared)
        this.touch()
        return -1
      case "linger":
      case "closed":
        return -1
    }
  }

  /** Who asks and does not read would have us keep one answer after the other. */
  #awaitReader(at: number): number {
    this.phase = "unread"
    this.touch()
    this.#pauseReading()
    return at
  }

  /** The client has taken what it was answered. */
  protected readOn(): void {
    this.resumeReading()
    this.#awaitHead()
    this.#feedBacklog()
  }

  #readHead(bytes: Buffer, at: number, to: number): number {
    const { limits, deadlines } = this.caller.services
    const scanner = this.scanner
    const fresh = !scanner.begun
    const after = scanner.scan(bytes, at, to)
    if (after === -1) {
      if (fresh) this.deadline = deadlines.after(limits.headerTimeoutMs)
      return -1
    }
    const head = after === -2 ? scanner.fault : parseRequestHead(scanner.text, limits.headerLines, scanner.printable)
    if (typeof head === "string") {
      this.malformed(head)
      return -1
    }
    const exchange = new Exchange(this.caller, this.writer, head)
    this.exchange = exchange
    this.writer.begin(exchange)
    this.#reader.begin(head.framing)
    switch (exchange.begin()) {
      case "forwarded":
        this.phase = "body"
        if (head.framing.kind !== "none") this.touch()
        return after
      case "refused":
        return this.#refuse(exchange, bytes, after, to)
      case "closed":
        // The mode no longer takes this connection: it ends as if it had never been accepted.
        exchange.abort()
        this.exchange = undefined
        this.destroy()
        return -1
    }
  }

  #readBody(bytes: Buffer, at: number, to: number, shared: boolean): number {
    const exchange = this.exchange
    if (exchange === undefined) return -1
    const step = this.#reader.read(bytes, at, to)
    if (step === STEP.data) {
      exchange.content(bytes, this.#reader.start, this.#reader.end, shared)
      this.touch()
      return this.#reader.next
    }
    if (step === STEP.done) {
      this.phase = "waiting"
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
    const { limits, meters } = this.caller.services
    const view = bytes.subarray(from, to)
    const part = shared ? Buffer.from(view) : view
    const backlog = this.backlog === undefined ? part : Buffer.concat([this.backlog, part])
    this.backlog = backlog
    // Whoever sends ahead without end waits in the kernel, not here.
    if (backlog.length < limits.headerBytes && countHeads(backlog) < limits.pipelinedRequests) return
    meters.limitHit("pipelinedRequests")
    this.#pauseReading()
  }

  #feedBacklog(): void {
    const backlog = this.backlog
    if (backlog === undefined) return
    this.backlog = undefined
    this.feed(backlog, 0, backlog.length, false)
    // What is still missing will not come.
    if (this.peerEnded) this.onEnd()
  }

  #pauseReading(): void {
    if (this.#paused) return
    this.#paused = true
    this.wire.socket.pause()
  }

  #awaitHead(): void {
    const { deadlines, limits } = this.caller.services
    this.phase = "head"
    const { draining } = this.caller.services.connections
    this.deadline = deadlines.after(draining ? DRAIN_IDLE_MS : limits.keepAliveTimeoutMs)
    if (this.draining || (this.peerEnded && this.backlog === undefined)) this.close()
  }
}

const HEAD_END = Buffer.from("\r\n\r\n")

/** How many requests wait, at least where they have no content. */
function countHeads(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(HEAD_END); at >= 0; at = bytes.indexOf(HEAD_END, at + HEAD_END.length)) count++
  return count
}
