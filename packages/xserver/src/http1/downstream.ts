// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of a client: how long each part of a request may take, who may end it, and how it ends.

import { type Expiring, HTTP_FAULTS, type HttpFault, UNWATCHED } from "@merlon/wire"
import type { Accepted } from "../accept/accepted.js"
import type { DrainReason, LiveConnection } from "../accept/connections.js"
import type { Caller } from "../http/caller.js"
import { unreadable } from "../http/exchange.js"
import { TOO_SLOW, UPSTREAM_REPLIES } from "../http/local-reply.js"
import { Connection, DRAIN_IDLE_MS } from "./connection.js"

const LINGER_MS = 1_000
/** How soon the kernel asks a half-closed peer whether it is still there. */
const PROBE_AFTER_MS = 10_000

export class Downstream extends Connection implements Expiring, LiveConnection {
  readonly #leave: () => void
  place = UNWATCHED

  constructor(caller: Caller) {
    super(caller)
    const { limits, deadlines, connections } = caller.services
    this.#leave = connections.add(this)
    this.deadline = deadlines.after(limits.headerTimeoutMs)
    deadlines.watch(this)
  }

  readonly protocol = "http"

  get port(): number {
    return this.caller.port
  }

  get plaintext(): boolean {
    return this.caller.plaintext
  }

  get peer(): Accepted["connection"]["peer"] {
    return this.caller.peer
  }

  get serial(): string | undefined {
    return this.caller.serial
  }

  get chain(): Caller["chain"] {
    return this.caller.chain
  }

  start(): void {
    const { head, socket } = this.caller.accepted
    if (head.length > 0) this.feed(head, 0, head.length, false)
    if (socket.destroyed) this.onClose()
    else if (socket.readableEnded) this.onEnd()
    else this.resumeReading()
  }

  drain(reason: DrainReason): void {
    const isIdle = this.phase === "head" && !this.scanner.begun
    if (reason === "termination") {
      if (isIdle) this.deadline = this.caller.services.deadlines.after(DRAIN_IDLE_MS)
      return
    }
    this.draining = true
    if (reason === "mode") {
      this.unwelcome = true
      if (this.phase === "tunnel") this.destroy()
    }
    if (isIdle) this.close()
  }

  judgeAgain(): void {
    this.exchange?.judgeAgain()
  }

  revoke(): void {
    const { gate, meters } = this.caller.services
    const admission = gate.refuseRevoked()
    if (this.exchange !== undefined) this.exchange.endByChange(admission)
    else meters.endedByChange("http/1.1", admission.judgement.stage)
    this.destroy()
  }

  /** All callers together hold too much, and this one most. */
  override evict(): void {
    this.caller.services.meters.limitHit("unjudgedBytes")
    this.scanner.reset()
    this.backlog = undefined
    this.destroy()
  }

  override destroy(): void {
    this.wire.socket.destroy()
  }

  // From the wire.

  override onEnd(): void {
    this.peerEnded = true
    switch (this.phase) {
      case "head":
        if (this.scanner.begun) this.destroy()
        else this.close()
        return
      case "waiting":
        // It may have gone for good, which only a probe can tell before the response is written.
        this.wire.socket.setKeepAlive(true, PROBE_AFTER_MS)
        return
      case "unread":
        // What it asked before it ended is answered once there is room.
        return
      case "tunnel":
        this.writer.tunnelEnd()
        return
      case "body":
        this.destroy()
        return
      case "discard":
        this.close()
        return
      case "linger":
        if (this.wire.socket.writableFinished) this.destroy()
        return
      case "closed":
    }
  }

  override onDrain(): void {
    if (this.phase === "tunnel") this.touch()
    if (this.phase === "unread") this.readOn()
    this.exchange?.drained()
  }

  override onClose(): void {
    if (this.phase === "closed") return
    this.phase = "closed"
    this.caller.services.deadlines.unwatch(this)
    this.#leave()
    this.caller.services.connections.unjudged.holds(this, 0)
    this.exchange?.abort()
    this.exchange = undefined
  }

  // Time.

  /** Something moved. */
  override touch(): void {
    const { deadlines, limits } = this.caller.services
    // Who does not take what there is for it is not idle but in the way.
    const patient = this.phase === "tunnel" && !this.outbox.full
    const limit = patient ? limits.tunnelIdleTimeoutMs : limits.bodyIdleTimeoutMs
    this.deadline = deadlines.after(limit)
  }

  expire(): void {
    const { meters } = this.caller.services
    switch (this.phase) {
      case "head":
        if (this.scanner.begun) this.#tooSlow()
        else this.close()
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
    this.caller.services.meters.limitHit("headerTimeoutMs")
    this.#answerUnread(408, "the request's headers took too long")
  }

  #stalled(): void {
    this.caller.services.meters.limitHit("bodyIdleTimeoutMs")
    const exchange = this.exchange
    if (exchange === undefined || exchange.responseStarted) {
      this.destroy()
      return
    }
    this.draining = true
    // Either the client does not send, or the application does not take it.
    if (exchange.full) exchange.reply(UPSTREAM_REPLIES["response-timeout"])
    else exchange.reply(TOO_SLOW)
  }

  // The end.

  protected override malformed(fault: HttpFault): void {
    const { meters } = this.caller.services
    if (fault === "head-too-large") meters.limitHit("headerBytes")
    if (fault === "too-many-headers") meters.limitHit("headerLines")
    const { status, text } = HTTP_FAULTS[fault]
    this.#answerUnread(status, text)
  }

  /** Answers something that could not be read as a request, and ends: where the next would begin nobody knows. */
  #answerUnread(status: number, body: string): void {
    this.writer.replyUnread(unreadable(this.caller, "http/1.1", status, body))
    this.close()
  }

  protected override close(): void {
    if (this.phase === "closed" || this.phase === "linger") return
    const { socket } = this.wire
    const { deadlines, limits } = this.caller.services
    this.phase = "linger"
    this.backlog = undefined
    this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    this.outbox.flush()
    socket.end(() => {
      // Only now has everything left; a client that reads slowly has had its time until here.
      this.deadline = deadlines.after(LINGER_MS)
      if (this.peerEnded) socket.destroy()
    })
    this.resumeReading()
  }
}
