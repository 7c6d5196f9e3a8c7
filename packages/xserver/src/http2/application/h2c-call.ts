// SPDX-License-Identifier: Apache-2.0
// One request to an application over HTTP/2. It is asked again, once, where the application says that it has not looked
// at it (RFC 9113 section 8.7) and nothing of a body has gone.

import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2"
import type { Expiring } from "../../http/deadlines.js"
import { FIELD_KIND, type FieldKind, fieldName } from "../../http/field-kind.js"
import { parseHeaderLines } from "../../http1/header-block.js"
import type { UpstreamFailure } from "../../observe/meters.js"
import { headerObject } from "../header-object.js"
import type { ApplicationCall, ApplicationListener, ApplicationRequest, HeaderList } from "./application.js"
import type { H2cApplication, H2cSession } from "./h2c.js"

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM, NGHTTP2_FLAG_END_STREAM } = constants

/** RFC 9113 section 8.2.2. */
const NOT_IN_HTTP2: ReadonlySet<FieldKind> = new Set([
  FIELD_KIND.connection,
  FIELD_KIND.hop,
  FIELD_KIND.transferEncoding,
  FIELD_KIND.upgrade,
])

export class H2cCall implements ApplicationCall, Expiring {
  readonly #application: H2cApplication
  readonly #request: ApplicationRequest
  readonly #listener: ApplicationListener
  #stream: ClientHttp2Stream | undefined
  #trailersOut: HeaderList = []
  #trailersIn: HeaderList = []
  #responded = false
  #over = false
  #retried = false
  deadline = 0

  constructor(application: H2cApplication, request: ApplicationRequest, listener: ApplicationListener) {
    this.#application = application
    this.#request = request
    this.#listener = listener
    this.#open()
    if (request.body === "none") this.#awaitResponse()
  }

  write(chunk: Buffer): boolean {
    const stream = this.#stream
    // Whoever writes to what has gone is told so by `onFailure`, or has its answer already.
    if (stream === undefined || stream.destroyed || stream.writableEnded) return true
    return stream.write(chunk)
  }

  end(trailers: HeaderList): void {
    this.#trailersOut = trailers
    if (this.#request.body === "none") return
    this.#stream?.end()
    this.#awaitResponse()
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    this.#stream?.resume()
  }

  abort(): void {
    if (this.#finish()) this.#stream?.close(NGHTTP2_CANCEL)
  }

  /** The application has not begun to answer in time. */
  expire(): void {
    const stream = this.#stream
    this.#application.options.meters.limitHit("responseTimeoutMs")
    this.#fail("response-timeout")
    stream?.close(NGHTTP2_CANCEL)
  }

  #open(): void {
    const session = this.#application.session()
    if (session === undefined) {
      this.#application.options.meters.limitHit("pendingRequests")
      // Not now: whoever sends does not hold the call yet.
      process.nextTick(() => this.#fail("pending-full"))
      return
    }
    const stream = this.#ask(session)
    if (stream === undefined) {
      process.nextTick(() => this.#fail("protocol"))
      return
    }
    this.#stream = stream
    session.enter()
    const ended = watchEnd(stream)
    stream.on("response", (headers, flags) => this.#onResponse(headers, flags))
    stream.on("headers", headers => {
      const { ":status": status = 0 } = headers
      if (!this.#over && status >= 100 && status < 200) this.#listener.onInformational(status, responseHeaders(headers))
    })
    stream.on("trailers", headers => {
      this.#trailersIn = responseHeaders(headers)
    })
    stream.on("wantTrailers", () => {
      if (!stream.closed && !stream.destroyed) stream.sendTrailers(headerObject(this.#trailersOut))
    })
    stream.on("data", (chunk: Buffer) => {
      if (!this.#over) this.#listener.onContent(chunk)
    })
    stream.on("drain", () => {
      if (!this.#over) this.#listener.onWritable()
    })
    stream.on("end", () => {
      // RFC 9113 section 8.1: an application may answer in full and then stop listening, without that being an error.
      if (this.#responded && ended() && this.#finish()) this.#listener.onEnd(this.#trailersIn)
    })
    // `close` follows and knows as much.
    stream.on("error", () => undefined)
    stream.once("close", () => {
      session.leave()
      this.#onClose(stream, session)
    })
  }

  #ask({ http2 }: H2cSession): ClientHttp2Stream | undefined {
    const { body, head } = this.#request
    const hasBody = body !== "none"
    try {
      return http2.request(requestHeaders(head), { endStream: !hasBody, waitForTrailers: hasBody })
    } catch {
      // A session that ended this very moment, or a header it has no room for: nothing has been sent.
      return undefined
    }
  }

  #awaitResponse(): void {
    const { deadlines, limits } = this.#application.options
    if (limits.responseTimeoutMs === 0 || this.#responded || this.#over) return
    this.deadline = deadlines.after(limits.responseTimeoutMs)
    deadlines.watch(this)
  }

  #onResponse(headers: IncomingHttpHeaders, flags: number): void {
    if (this.#over) return
    this.#responded = true
    this.#application.options.deadlines.unwatch(this)
    const status = Number(headers[":status"])
    const ended = (flags & NGHTTP2_FLAG_END_STREAM) !== 0
    this.#listener.onResponse({ status, headers: responseHeaders(headers), ended, trailers: !ended })
  }

  #onClose({ rstCode }: ClientHttp2Stream, session: H2cSession): void {
    if (this.#over) return
    if (rstCode === NGHTTP2_REFUSED_STREAM && !this.#retried && !this.#responded && this.#request.body === "none") {
      this.#retried = true
      this.#open()
      return
    }
    if (session.connected) this.#fail("reset")
    else this.#fail(session.timedOut ? "connect-timeout" : "connect")
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#listener.onFailure(failure)
  }

  /** Whether it was not over before. */
  #finish(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#application.options.deadlines.unwatch(this)
    return true
  }
}

/**
 * Whether the application itself ended the stream. Node also tells the end of one that was reset with NO_ERROR, and a
 * response cut short must not pass for a whole one; but by then it has marked the stream as closed.
 */
function watchEnd(stream: ClientHttp2Stream): () => boolean {
  let ended = false
  const push = stream.push.bind(stream)
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) ended = true
    return push(chunk, encoding)
  }
  return () => ended
}

/** The head that the HTTP/1.1 path would write, in the words of HTTP/2: what the application sees is decided once. */
function requestHeaders(head: string): ReturnType<typeof headerObject> {
  const lineEnd = head.indexOf("\r\n")
  const [method = "", path = ""] = head.slice(0, lineEnd).split(" ")
  const block = parseHeaderLines(head, lineEnd + 2, Number.POSITIVE_INFINITY)
  // INVARIANT: we wrote it. Fail closed should that ever be wrong.
  if (typeof block === "string") throw new RangeError(`a head that cannot be read: ${block}`)
  const list: (readonly [string, string])[] = [
    [":method", method],
    [":path", path],
    [":scheme", "http"],
  ]
  for (let index = 0; index < block.size; index++) {
    const kind = block.kind(index)
    const value = block.value(index)
    if (kind === FIELD_KIND.host) list.push([":authority", value])
    else if (!NOT_IN_HTTP2.has(kind)) list.push([block.name(index), value])
  }
  return headerObject(list)
}

function responseHeaders(headers: IncomingHttpHeaders): HeaderList {
  const list: (readonly [string, string])[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue
    const { kind } = fieldName(name)
    if (NOT_IN_HTTP2.has(kind)) continue
    for (const one of Array.isArray(value) ? value : [value]) list.push([name, String(one)])
  }
  return list
}
