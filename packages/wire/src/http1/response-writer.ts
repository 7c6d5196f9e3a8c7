// SPDX-License-Identifier: Apache-2.0
// Writes responses to an HTTP/1 client, one after the other: their framing, and whether the connection is kept open.
// One writer per connection, reset for each request.

import type { Exchange, Responder } from "../http/downstream.js"
import type { Fields } from "../http/fields.js"
import type { Framing } from "../http/framing.js"
import type { ResponseHead } from "../http/head.js"
import type { LocalReply } from "../http/local-reply.js"
import { keepsResponseTrailer } from "../http/response-fields.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import type { OutputBuffer } from "../sockets/output-buffer.js"
import { chunkStart, lastChunk, trailerLines } from "./chunk.js"
import { connectionLine, framingFor, localReplyText, responseHeadText } from "./response-head.js"

/** The interface of the connection that the writer uses. */
export interface ClientConnection {
  readonly output: OutputBuffer
  /** Whether it may carry another request, apart from conditions of the current request. */
  readonly mayReuse: boolean
  /** Whether the current request has been read to its end. */
  readonly requestDone: boolean
  /** Whether the rest of the current request is small enough to be skipped. */
  readonly canFinishRequest: boolean
  /** Resets the idle timeout after activity. */
  touch(): void
  resumeReading(): void
  exchangeOver(keepAlive: boolean): void
  beginTunnel(): void
  /** The server has ended its side. */
  endTunnel(): void
  destroy(): void
}

export class ResponseWriter implements Responder {
  readonly #connection: ClientConnection
  #exchange: Exchange | undefined
  #framing: Framing["kind"] = "none"
  #keepAlive = false
  #tunnel = false

  constructor(connection: ClientConnection) {
    this.#connection = connection
  }

  begin(exchange: Exchange): void {
    this.#exchange = exchange
    this.#framing = "none"
    this.#keepAlive = false
    this.#tunnel = false
  }

  get full(): boolean {
    return this.#connection.output.full
  }

  informational(response: ResponseHead): void {
    const { head } = this.#exchange ?? {}
    if (head !== undefined) this.#connection.output.text(responseHeadText(response, head, "none", ""))
  }

  respond(response: ResponseHead): boolean {
    const exchange = this.#exchange
    if (exchange === undefined) return false
    const { output } = this.#connection
    const { head } = exchange
    const isConnected = head.method === "CONNECT" && response.status >= 200 && response.status < 300
    if (response.status === 101 || isConnected) {
      this.#tunnel = true
      this.#framing = "close"
      output.text(responseHeadText(response, head, "none", isConnected ? "" : "connection: upgrade\r\n"))
      this.#connection.beginTunnel()
      return true
    }
    this.#framing = framingFor(response, head.version)
    // A client that is still sending cannot know when to begin its next request, so the connection closes.
    this.#keepAlive =
      head.keepAlive && this.#connection.requestDone && this.#connection.mayReuse && this.#framing !== "close"
    output.text(responseHeadText(response, head, this.#framing, connectionLine(this.#keepAlive, head.version)))
    this.#connection.touch()
    return true
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    const { output } = this.#connection
    if (this.#framing === "chunked") {
      output.text(chunkStart(to - from))
      output.bytes(bytes, from, to)
      output.text("\r\n")
    } else {
      output.bytes(bytes, from, to)
    }
    this.#connection.touch()
  }

  flush(): void {
    // `end` has flushed what is complete.
    this.#connection.output.flushSoon()
  }

  end(trailers: Fields | undefined): void {
    const exchange = this.#exchange
    const { output } = this.#connection
    if (exchange === undefined) return
    if (this.#tunnel) {
      this.#framing = "none"
      this.#connection.endTunnel()
      if (this.#connection.requestDone) this.#tunnelOver(exchange)
      return
    }
    if (this.#framing === "chunked") output.text(lastChunk(trailerLines(trailers, keepsResponseTrailer)))
    output.flush()
    exchange.finish()
    this.#connection.exchangeOver(this.#keepAlive && this.#connection.requestDone)
  }

  /** After an upgrade: the client has ended its side. */
  tunnelEnd(): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    exchange.requestEnd(undefined)
    if (this.#framing === "none") this.#tunnelOver(exchange)
  }

  reply(reply: LocalReply): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    const connection = this.#connection
    const { head } = exchange
    const keepAlive = head.keepAlive && connection.mayReuse && connection.canFinishRequest
    connection.output.text(localReplyText(reply, head.method, connectionLine(keepAlive, head.version)))
    connection.output.flush()
    exchange.finish()
    connection.exchangeOver(keepAlive)
  }

  /** Responds to bytes that are not a valid request, and closes: it is unknown where the next request would begin. */
  replyUnread(reply: LocalReply): void {
    this.#connection.output.text(localReplyText(reply, "", "connection: close\r\n"))
  }

  breakOff(): void {
    this.#connection.output.flush()
    this.#exchange?.finish()
    this.#connection.destroy()
  }

  requestWritable(): void {
    this.#connection.resumeReading()
  }

  #tunnelOver(exchange: Exchange): void {
    exchange.finish()
    this.#connection.exchangeOver(false)
  }
}
