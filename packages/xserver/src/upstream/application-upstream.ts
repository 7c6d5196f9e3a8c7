// SPDX-License-Identifier: Apache-2.0
// An application that does not speak HTTP/1.1, to an HTTP/1.1 client: its responses are put into HTTP/1.1 words and read
// by the same strict parser, and content must have the length that was announced, so that the client's connection
// cannot be led astray from behind.

import { parseHeaderLines } from "../http1/header-block.js"
import { parseResponseHead, type ResponseHead } from "../http1/response-head.js"
import type { UpstreamCall, UpstreamListener, UpstreamRequest, UpstreamTarget } from "../http1/upstream-exchange.js"
import type {
  Application,
  ApplicationCall,
  ApplicationListener,
  ApplicationResponse,
  HeaderList,
} from "../http2/application/application.js"
import type { Limits } from "../limits.js"
import type { UpstreamFailure } from "../observe/meters.js"

export class ApplicationUpstream implements UpstreamTarget {
  /** RFC 9113 section 8.6: HTTP/2 has no such mechanism. */
  readonly upgrades = false
  readonly #application: Application
  readonly #limits: Limits

  constructor(application: Application, limits: Limits) {
    this.#application = application
    this.#limits = limits
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    return new TranslatedCall(this.#application, request, listener, this.#limits)
  }
}

class TranslatedCall implements UpstreamCall, ApplicationListener {
  readonly #request: UpstreamRequest
  readonly #listener: UpstreamListener
  readonly #limits: Limits
  readonly #call: ApplicationCall
  /** Bytes of content still to come; undefined where no length was announced. */
  #remaining: number | undefined
  #over = false
  full = false

  constructor(application: Application, request: UpstreamRequest, listener: UpstreamListener, limits: Limits) {
    const { method, head, hasBody, chunked } = request
    this.#request = request
    this.#listener = listener
    this.#limits = limits
    const body = chunked === true ? "chunked" : hasBody ? "length" : "none"
    this.#call = application.send({ method, head, body }, this)
  }

  content(bytes: Buffer, from: number, to: number, shared: boolean): void {
    const part = bytes.subarray(from, to)
    this.full = !this.#call.write(shared ? Buffer.from(part) : part)
  }

  finishRequest(trailerLines: string): void {
    const trailers = parseHeaderLines(`${trailerLines}\r\n`, 0, this.#limits.headerLines)
    const list: (readonly [string, string])[] = []
    // INVARIANT: lines that were read by the same parser are not refused by it.
    for (let index = 0; typeof trailers !== "string" && index < trailers.size; index++) {
      list.push([trailers.name(index), trailers.value(index)])
    }
    this.#call.end(list)
  }

  flush(): void {
    // Written as it came.
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
    const head = this.#parse(status, headers)
    if (head === undefined || status === 101) return
    this.#listener.onInformational(head)
    this.#listener.onPause()
  }

  onResponse({ status, headers, ended }: ApplicationResponse): void {
    const head = this.#parse(status, headers)
    if (head === undefined || status < 200) {
      this.#fail("protocol")
      return
    }
    const { framing } = head
    this.#remaining = framing.kind === "length" ? framing.length : framing.kind === "none" ? 0 : undefined
    this.#listener.onResponse(head)
    if (!ended) this.#listener.onPause()
  }

  onContent(bytes: Buffer): void {
    if (this.#over) return
    if (this.#remaining !== undefined) {
      this.#remaining -= bytes.length
      if (this.#remaining < 0) {
        this.#fail("protocol")
        return
      }
    }
    if (bytes.length > 0) this.#listener.onContent(bytes, 0, bytes.length)
    this.#listener.onPause()
  }

  onEnd(trailers: HeaderList): void {
    if (this.#over) return
    const block = trailers.length === 0 ? undefined : parseHeaderLines(linesOf(trailers), 0, this.#limits.headerLines)
    if (typeof block === "string" || (this.#remaining ?? 0) > 0) {
      this.#fail("protocol")
      return
    }
    this.#over = true
    this.#listener.onEnd(block)
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.#over) return
    this.#over = true
    this.#listener.onFailure(failure)
  }

  onWritable(): void {
    this.full = false
    if (!this.#over) this.#listener.onWritable()
  }

  #parse(status: number, headers: HeaderList): ResponseHead | undefined {
    const text = `HTTP/1.1 ${status} \r\n${linesOf(headers)}`
    const head = parseResponseHead(text, this.#request.method, this.#limits.headerLines)
    return typeof head === "string" ? undefined : head
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#over) return
    this.#over = true
    this.#call.abort()
    this.#listener.onFailure(failure)
  }
}

/** With the empty line that ends them. */
function linesOf(headers: HeaderList): string {
  return `${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
}
