// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection: its limits, its place in the registry, and how it ends. nghttp2 and Node bound what a frame may
// cost (header lists, CONTINUATION, unanswered SETTINGS and PING, memory); what they cannot know is bounded here.

import { constants, performServerHandshake, type ServerHttp2Session } from "node:http2"
import type { Accepted } from "../accept/accepted.js"
import { connectionHeaders, OWN_HEADERS } from "../accept/forwarded-headers.js"
import type { Gate } from "../enforcement/gate.js"
import type { Deadlines, Expiring } from "../http/deadlines.js"
import type { ForwardedConnection } from "../http1/forward-request.js"
import type { Limits } from "../limits.js"
import type { Meters } from "../observe/meters.js"
import type { Application } from "./application/application.js"
import { ResetBudget } from "./reset-budget.js"
import type { Http2Options } from "./serve-http2.js"
import { StreamExchange } from "./stream.js"

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM } = constants

/** What one stream, and what all together, may send us beyond what has been forwarded. */
const STREAM_WINDOW = 256 * 1024
const SESSION_WINDOW = 1024 * 1024
/** Streams thrown away at once, and per second from then on. */
const RESET_BURST = 200
const RESETS_PER_SECOND = 20
/** An honest client changes its settings a few times, if ever. */
const SETTINGS_BURST = 100
const SETTINGS_PER_SECOND = 1
const INVALID_FRAMES = 100
/** For the last frames of a connection that ends. */
const LINGER_MS = 1_000

export class Session implements Expiring {
  readonly accepted: Accepted
  readonly gate: Gate
  readonly limits: Limits
  readonly meters: Meters
  readonly deadlines: Deadlines
  readonly application: Application
  readonly forwarded: ForwardedConnection
  /** What a rule reads under the gate's own names, whatever the client wrote there. */
  readonly standIns: ReadonlyMap<string, readonly string[]>
  readonly #options: Http2Options
  readonly #resets = new ResetBudget(RESET_BURST, RESETS_PER_SECOND, performance.now())
  readonly #settings = new ResetBudget(SETTINGS_BURST, SETTINGS_PER_SECOND, performance.now())
  #http2: ServerHttp2Session | undefined
  readonly #open = new Set<StreamExchange>()
  #streams = 0
  /** Asked whether it is still there, and not answered yet. */
  #pinged = false
  deadline = 0

  constructor(accepted: Accepted, options: Http2Options) {
    this.accepted = accepted
    this.gate = options.gate
    this.limits = options.limits
    this.meters = options.meters
    this.deadlines = options.deadlines
    this.application = options.application
    this.#options = options
    const headers = connectionHeaders(accepted)
    this.forwarded = {
      lines: headers.map(([name, value]) => `${name}: ${value}\r\n`).join(""),
      // An IPv4 client of a dual-stack listener is an IPv4 client.
      address: accepted.connection.sourceIp.text.replace(/^::ffff:(?=\d+\.)/i, ""),
    }
    const standIns = new Map<string, readonly string[]>(OWN_HEADERS.map(name => [name, []]))
    for (const [name, value] of headers) standIns.set(name, [value])
    this.standIns = standIns
  }

  open(): void {
    const { accepted, limits, deadlines } = this
    const { socket, head, connection, certificate, port } = accepted
    // The session takes no half-open socket: a client that has ended cannot acknowledge anything either.
    socket.allowHalfOpen = false
    if (head.length > 0) socket.unshift(head)
    // Two of these are documented, but the types do not know them.
    const bounds = {
      maxHeaderListPairs: limits.headerLines + 4,
      maxSessionInvalidFrames: INVALID_FRAMES,
      maxSessionRejectedStreams: INVALID_FRAMES,
      settings: {
        maxConcurrentStreams: limits.streams,
        maxHeaderListSize: limits.headerBytes,
        initialWindowSize: STREAM_WINDOW,
      },
    }
    const http2 = performServerHandshake(socket, bounds)
    this.#http2 = http2
    http2.setLocalWindowSize(SESSION_WINDOW)
    const remove = this.#options.connections.add({
      port: port.port,
      plaintext: connection.peer === undefined,
      peer: connection.peer,
      serial: certificate?.serial,
      judgeAgain: () => {
        for (const exchange of [...this.#open]) exchange.judgeAgain()
      },
      revoke: () => {
        const admission = this.gate.refuseRevoked()
        if (this.#open.size === 0) this.meters.endedByChange("h2", admission.judgement.stage)
        for (const exchange of [...this.#open]) exchange.endByChange(admission)
        http2.destroy()
      },
      drain: () => this.drain(),
      destroy: () => http2.destroy(),
    })
    http2.on("stream", (stream, _, flags, raw?: readonly string[]) => {
      this.#streams++
      this.#alive()
      const exchange = new StreamExchange(stream, this, (flags & NGHTTP2_FLAG_END_STREAM) !== 0)
      this.#open.add(exchange)
      exchange.begin(raw ?? [])
    })
    http2.on("remoteSettings", () => {
      if (!this.#settings.take(performance.now())) this.#calm()
    })
    // What a peer does wrong ends its session; there is nobody to tell.
    http2.on("error", ignore)
    http2.once("close", () => {
      remove()
      deadlines.unwatch(this)
      socket.destroy()
    })
    deadlines.watch(this)
    this.#rest()
  }

  /** GOAWAY: streams that are open end in their own time, further ones belong on another connection. */
  drain(): void {
    if (this.#http2?.closed === false) this.#http2.close()
  }

  /**
   * Without a stream for too long: it drains, and ends if that does not end it. With streams it must show that it is
   * still there: after some frames nghttp2 gives a session up without telling anybody, and reads no more.
   */
  expire(): void {
    const { deadlines, limits } = this
    if (this.#streams === 0 && this.#http2?.closed === false) {
      this.drain()
      this.deadline = deadlines.after(Math.min(limits.keepAliveTimeoutMs, LINGER_MS))
    } else if (this.#streams === 0 || this.#pinged || this.#http2?.ping(() => this.#alive()) !== true) {
      this.#http2?.destroy()
    } else {
      this.#pinged = true
      this.deadline = deadlines.after(limits.bodyIdleTimeoutMs)
    }
  }

  /** For streams: one is over; `cancelled` where the peer brought that about. */
  closed(exchange: StreamExchange, cancelled: boolean): void {
    this.#open.delete(exchange)
    this.#streams--
    this.#rest()
    if (cancelled && !this.#resets.take(performance.now())) this.#calm()
  }

  #rest(): void {
    if (this.#streams === 0) this.deadline = this.deadlines.after(this.limits.keepAliveTimeoutMs)
  }

  #alive(): void {
    this.#pinged = false
    if (this.#streams > 0) this.deadline = this.deadlines.after(this.limits.bodyIdleTimeoutMs)
  }

  // Fail closed: a peer that only makes work loses its connection, with everything on it.
  #calm(): void {
    const http2 = this.#http2
    if (http2 === undefined || http2.destroyed) return
    this.meters.limitHit("streams")
    http2.goaway(NGHTTP2_ENHANCE_YOUR_CALM)
    http2.destroy()
  }
}

function ignore(): void {}
