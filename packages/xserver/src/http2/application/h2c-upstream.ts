// SPDX-License-Identifier: Apache-2.0
// An application that speaks HTTP/2 in clear, for requests that came over HTTP/1.1: takes what the HTTP/1.1 path writes
// to its pool, and answers as the pool would. What is written has a body's framing in it, which is read out again with
// the reader that the codec uses, so there is no second understanding of it.

import { BodyReader } from "../../http1/body-reader.js"
import { CHUNKED, requestFraming, responseFraming } from "../../http1/framing.js"
import { type HeaderBlock, parseHeaderLines } from "../../http1/header-block.js"
import type { ResponseHead } from "../../http1/response-head.js"
import { STEP } from "../../http1/step.js"
import type { UpstreamFailure } from "../../observe/meters.js"
import type { UpstreamExchange, UpstreamListener, UpstreamRequest } from "../../upstream/exchange.js"
import type { ApplicationCall, ApplicationListener, ApplicationResponse, HeaderList } from "./application.js"
import type { H2cApplication } from "./h2c.js"

/** What a forwarder of HTTP/1.1 needs of its exchange. */
export type UpstreamCall = Pick<
  UpstreamExchange,
  "text" | "bytes" | "flush" | "end" | "full" | "pause" | "resume" | "abort"
>

/** What it needs of its pool. */
export interface UpstreamSender {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall
}

export class H2cUpstream implements UpstreamSender {
  readonly #application: H2cApplication

  constructor(application: H2cApplication) {
    this.#application = application
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    return new H2cUpstreamCall(this.#application, request, listener)
  }
}

class H2cUpstreamCall implements UpstreamCall, ApplicationListener {
  readonly #request: UpstreamRequest
  readonly #listener: UpstreamListener
  readonly #reader: BodyReader
  readonly #call: ApplicationCall
  #full = false
  #over = false

  constructor(application: H2cApplication, request: UpstreamRequest, listener: UpstreamListener) {
    const { headerBytes, headerLines } = application.options.limits
    this.#request = request
    this.#listener = listener
    this.#reader = new BodyReader(headerBytes, headerLines)
    const { method, head, hasBody } = request
    const headers = blockOf(head.slice(head.indexOf("\r\n") + 2))
    const framing = headers === undefined ? undefined : requestFraming(headers, 1)
    // INVARIANT: we wrote the head. Fail closed should it ever be ambiguous.
    if (framing === undefined || typeof framing === "string") throw new RangeError("a head that cannot be read")
    this.#reader.begin(framing)
    const body = !hasBody || framing.kind === "close" ? "none" : framing.kind
    this.#call = application.send({ method, head, body }, this)
  }

  get full(): boolean {
    return this.#full && !this.#over
  }

  text(part: string): void {
    this.#read(Buffer.from(part, "latin1"))
  }

  bytes(bytes: Buffer, from: number, to: number, shared: boolean): void {
    const part = bytes.subarray(from, to)
    this.#read(shared ? Buffer.from(part) : part)
  }

  flush(): void {}

  end(): void {
    const { trailers } = this.#reader
    const list: (readonly [string, string])[] = []
    for (let index = 0; index < (trailers?.size ?? 0); index++) {
      list.push([trailers?.name(index) ?? "", trailers?.value(index) ?? ""])
    }
    this.#call.end(list)
  }

  pause(): void {
    this.#call.pause()
  }

  resume(): void {
    this.#call.resume()
  }

  abort(): void {
    this.#over = true
    this.#call.abort()
  }

  onInformational(status: number, headers: HeaderList): void {
    const head = this.#headOf(status, headers)
    if (head === undefined) return
    this.#listener.onInformational(head)
    this.#listener.onPause()
  }

  onResponse({ status, headers }: ApplicationResponse): void {
    const head = this.#headOf(status, headers)
    if (head === undefined) {
      // Fail closed: what HTTP/1.1 cannot write, or would end elsewhere, is no response.
      this.abort()
      this.onFailure("protocol")
      return
    }
    this.#listener.onResponse(head)
    this.#listener.onPause()
  }

  onContent(bytes: Buffer): void {
    this.#listener.onContent(bytes, 0, bytes.length)
    this.#listener.onPause()
  }

  onEnd(trailers: HeaderList): void {
    this.#over = true
    this.#listener.onEnd(trailers.length === 0 ? undefined : blockOf(textOf(trailers)))
    this.#listener.onPause()
  }

  onFailure(failure: UpstreamFailure): void {
    this.#over = true
    this.#listener.onFailure(failure)
  }

  onWritable(): void {
    this.#full = false
    this.#listener.onWritable()
  }

  #read(bytes: Buffer): void {
    let at = 0
    while (this.#reader.read(bytes, at, bytes.length) === STEP.data) {
      if (!this.#call.write(bytes.subarray(this.#reader.start, this.#reader.end))) this.#full = true
      at = this.#reader.next
    }
  }

  #headOf(status: number, headers: HeaderList): ResponseHead | undefined {
    const block = blockOf(textOf(headers))
    const declared = block === undefined ? undefined : responseFraming(block, 1, status, this.#request.method)
    if (block === undefined || declared === undefined || typeof declared === "string") return undefined
    // HTTP/2 ends its streams by itself, so a response without a length ends well, not with the connection.
    const framing = declared.kind === "close" ? CHUNKED : declared
    return { status, reason: "", minorVersion: 1, headers: block, framing, keepAlive: true }
  }
}

function textOf(headers: HeaderList): string {
  return `${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
}

function blockOf(text: string): HeaderBlock | undefined {
  const block = parseHeaderLines(text, 0, Number.POSITIVE_INFINITY)
  return typeof block === "string" ? undefined : block
}
