// SPDX-License-Identifier: Apache-2.0
// An application that speaks HTTP/2 in clear (prior knowledge, RFC 9113 section 3.3): a few sessions, filled one after
// the other. Only a stream's own window holds its response back, never the session's: one client that does not read
// must not starve the others.

import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { connect } from "node:net"
import type { Deadlines, Expiring } from "../../http/deadlines.js"
import type { Limits } from "../../limits.js"
import type { Meters } from "../../observe/meters.js"
import type { Application, ApplicationCall, ApplicationListener, ApplicationRequest } from "./application.js"
import { H2cCall } from "./h2c-call.js"

export interface H2cOptions {
  readonly address: { readonly host: string; readonly port: number }
  readonly limits: Limits
  readonly meters: Meters
  readonly deadlines: Deadlines
}

const STREAM_WINDOW = 128 * 1024
const SESSION_WINDOW = 2 ** 31 - 1
/** What an application that says nothing may be asked at once. */
const ASSUMED_STREAMS = 100
const MAX_STREAMS = 1_000
const SESSION_MEMORY_MB = 256

export class H2cApplication implements Application {
  readonly options: H2cOptions
  readonly #sessions = new Set<H2cSession>()

  constructor(options: H2cOptions) {
    this.options = options
  }

  get connections(): number {
    return this.#sessions.size
  }

  send(request: ApplicationRequest, listener: ApplicationListener): ApplicationCall {
    return new H2cCall(this, request, listener)
  }

  /** A session with room for one more stream; undefined where there is none and may be none. */
  session(): H2cSession | undefined {
    for (const session of this.#sessions) if (session.hasRoom) return session
    if (this.#sessions.size >= this.options.limits.upstreamConnections) return undefined
    const session: H2cSession = new H2cSession(this.options, () => this.#sessions.delete(session))
    this.#sessions.add(session)
    return session
  }

  close(): void {
    for (const { http2 } of [...this.#sessions]) http2.close()
  }
}

export class H2cSession implements Expiring {
  readonly http2: ClientHttp2Session
  readonly #options: H2cOptions
  #streams = 0
  connected = false
  timedOut = false
  deadline: number

  constructor(options: H2cOptions, gone: () => void) {
    const { address, limits, deadlines } = options
    this.#options = options
    const host = address.host.includes(":") ? `[${address.host}]` : address.host
    this.http2 = connectHttp2(`http://${host}:${address.port}`, {
      createConnection: () => connect({ ...address, noDelay: true }),
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: limits.headerBytes },
      maxHeaderListPairs: limits.headerLines + 1,
      maxSessionMemory: SESSION_MEMORY_MB,
      peerMaxConcurrentStreams: ASSUMED_STREAMS,
    })
    this.deadline = deadlines.after(limits.connectTimeoutMs)
    deadlines.watch(this)
    this.http2.on("connect", () => {
      this.connected = true
      this.deadline = 0
      this.http2.setLocalWindowSize(SESSION_WINDOW)
      this.#rest()
    })
    // The streams tell what happened; the session only has to go.
    this.http2.on("error", () => undefined)
    this.http2.once("close", () => {
      deadlines.unwatch(this)
      gone()
    })
  }

  get hasRoom(): boolean {
    if (this.http2.closed || this.http2.destroyed) return false
    const theirs = this.http2.remoteSettings?.maxConcurrentStreams ?? ASSUMED_STREAMS
    return this.#streams < Math.min(theirs, MAX_STREAMS)
  }

  enter(): void {
    this.#streams++
    if (this.connected) this.deadline = 0
  }

  leave(): void {
    this.#streams--
    this.#rest()
  }

  expire(): void {
    if (this.connected) {
      this.http2.close()
      return
    }
    this.timedOut = true
    this.#options.meters.limitHit("connectTimeoutMs")
    this.http2.destroy()
  }

  #rest(): void {
    const { deadlines, limits } = this.#options
    if (this.connected && this.#streams === 0) this.deadline = deadlines.after(limits.keepAliveTimeoutMs)
  }
}
