// SPDX-License-Identifier: Apache-2.0
// One request to the application, from the side of whoever forwards it: write it, be told of the response, pause, give
// up. It may have to wait for a connection and may move to another one before anything has come back; the forwarder
// sees neither.

import type { UpstreamFailure } from "../observe/meters.js"
import { chunkStart } from "./chunk.js"
import type { HeaderBlock } from "./header-block.js"
import type { ResponseHead } from "./response-head.js"
import type { Upstream } from "./upstream.js"
import type { UpstreamConnection } from "./upstream-connection.js"

export interface UpstreamRequest {
  readonly method: string
  /** Request line and headers as they are to be written, with the empty line. */
  readonly head: string
  readonly hasBody: boolean
  /** Whether `content` is to be framed in chunks. */
  readonly chunked?: boolean
  /** Whether 101 is a possible answer. After it content is raw, both ways, until each side has ended. */
  readonly upgrade: boolean
}

/** Calls come in this order; none after `onEnd` or `onFailure`, and none at all before `send` has returned. */
export interface UpstreamListener {
  /** Status 1xx other than 101. */
  onInformational(head: ResponseHead): void
  onResponse(head: ResponseHead): void
  /** The bytes are the listener's only until it returns. */
  onContent(bytes: Buffer, from: number, to: number): void
  onEnd(trailers: HeaderBlock | undefined): void
  onFailure(failure: UpstreamFailure): void
  /** All that came at once has been told: the time to write what was gathered. */
  onPause(): void
  /** `full` was true and is no longer. */
  onWritable(): void
}

/** One request on its way, whichever protocol the application speaks. */
export interface UpstreamCall {
  /** `shared` bytes may be overwritten once this returns. */
  content(bytes: Buffer, from: number, to: number, shared: boolean): void
  /** The request is complete, with these header lines after its content. Where it was switched, our side has ended. */
  finishRequest(trailerLines: string): void
  /** What was written may go. */
  flush(): void
  /** Whether the forwarder is to wait for `onWritable`. */
  readonly full: boolean
  pause(): void
  resume(): void
  /** Nobody wants the response any more. No call follows. */
  abort(): void
}

/** What an HTTP/1.1 connection needs to know of the application. */
export interface UpstreamTarget {
  /** Whether its connections can be switched to another protocol. */
  readonly upgrades: boolean
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall
}

// RFC 9110 section 9.2.2.
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

type Part = string | Buffer

export class UpstreamExchange implements UpstreamCall {
  readonly request: UpstreamRequest
  readonly listener: UpstreamListener
  readonly #upstream: Upstream
  #connection: UpstreamConnection | undefined
  /** What was written before there was a connection. */
  #waiting: Part[] = []
  #retried = false
  #over = false
  /** The request has been written to its end. */
  ended = false
  /** When it began to wait for a connection, in the clock of deadlines. */
  deadline = 0

  constructor(upstream: Upstream, request: UpstreamRequest, listener: UpstreamListener) {
    this.#upstream = upstream
    this.request = request
    this.listener = listener
  }

  text(part: string): void {
    if (this.#connection !== undefined) this.#connection.outbox.text(part)
    else if (!this.#over) this.#waiting.push(part)
  }

  /** `shared` bytes may be overwritten once this returns. */
  bytes(bytes: Buffer, from: number, to: number, shared: boolean): void {
    if (this.#connection !== undefined) this.#connection.outbox.bytes(bytes, from, to, shared)
    else if (!this.#over) this.#waiting.push(shared ? Buffer.from(bytes.subarray(from, to)) : bytes.subarray(from, to))
  }

  content(bytes: Buffer, from: number, to: number, shared: boolean): void {
    if (this.request.chunked !== true) {
      this.bytes(bytes, from, to, shared)
      return
    }
    this.text(chunkStart(to - from))
    this.bytes(bytes, from, to, shared)
    this.text("\r\n")
  }

  finishRequest(trailerLines: string): void {
    if (this.request.chunked === true) this.text(`0\r\n${trailerLines}\r\n`)
    this.end()
  }

  flush(): void {
    this.#connection?.outbox.flush()
  }

  /** The request is complete; after an upgrade, our side of the tunnel is. */
  end(): void {
    if (this.ended) return
    this.ended = true
    this.#connection?.requestEnded()
  }

  get full(): boolean {
    return this.#connection === undefined ? !this.#over : this.#connection.outbox.full
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    this.#connection?.resume()
  }

  abort(): void {
    if (this.#over) return
    this.finish()
    const connection = this.#connection
    this.#connection = undefined
    if (connection === undefined) this.#upstream.forget(this)
    else connection.destroy()
  }

  /** For the pool: from here on it is this connection's request. */
  attach(connection: UpstreamConnection): void {
    this.deadline = 0
    this.#connection = connection
    connection.outbox.text(this.request.head)
    for (const part of this.#waiting) {
      if (typeof part === "string") connection.outbox.text(part)
      else connection.outbox.bytes(part, 0, part.length, false)
    }
    this.#waiting = []
    if (this.ended) connection.requestEnded()
  }

  /** For the pool: the response is over, or there will be none. */
  finish(): void {
    this.#over = true
    this.#waiting = []
  }

  get over(): boolean {
    return this.#over
  }

  /**
   * RFC 9112 section 9.3.1: an application may close an idle connection as we write to it. Where nothing came back and
   * asking twice does no harm, the request is asked again, once.
   */
  takeRetry(): boolean {
    const { method, hasBody, upgrade } = this.request
    const allowed = !this.#retried && !hasBody && !upgrade && IDEMPOTENT.has(method)
    if (allowed) {
      this.#retried = true
      this.#connection = undefined
    }
    return allowed
  }
}
