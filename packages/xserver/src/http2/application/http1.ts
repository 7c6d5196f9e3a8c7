// SPDX-License-Identifier: Apache-2.0
// An application that speaks HTTP/1.1: the pool that the HTTP/1.1 path uses, with bodies framed for it.

import { FIELD_KIND } from "../../http/field-kind.js"
import { removeNominated } from "../../http1/forward-request.js"
import type { HeaderBlock } from "../../http1/header-block.js"
import type { Upstream } from "../../http1/upstream.js"
import type { UpstreamCall } from "../../http1/upstream-exchange.js"
import type {
  Application,
  ApplicationCall,
  ApplicationListener,
  ApplicationRequest,
  HeaderList,
} from "./application.js"

export class Http1Application implements Application {
  readonly #upstream: Upstream

  constructor(upstream: Upstream) {
    this.#upstream = upstream
  }

  send({ method, head, body }: ApplicationRequest, listener: ApplicationListener): ApplicationCall {
    const request = { method, head, hasBody: body !== "none", chunked: body === "chunked", upgrade: false }
    const call = this.#upstream.send(request, {
      onInformational: ({ status, headers }) => listener.onInformational(status, listOf(headers)),
      onResponse: ({ status, headers, framing }) => {
        removeNominated(headers)
        const [ended, trailers] = [framing.kind === "none", framing.kind === "chunked"]
        listener.onResponse({ status, headers: listOf(headers), ended, trailers })
      },
      // The pool reads into one buffer again and again; what waits in a stream must be its own.
      onContent: (bytes, from, to) => listener.onContent(Buffer.from(bytes.subarray(from, to))),
      onEnd: trailers => listener.onEnd(trailers === undefined ? [] : listOf(trailers)),
      onFailure: failure => listener.onFailure(failure),
      onPause: () => undefined,
      onWritable: () => listener.onWritable(),
    })
    call.flush()
    // Only a request known to be complete leaves its connection for the next one.
    if (body === "none") call.finishRequest("")
    return new Http1Call(call)
  }

  close(): void {
    this.#upstream.close()
  }
}

class Http1Call implements ApplicationCall {
  readonly #call: UpstreamCall

  constructor(call: UpstreamCall) {
    this.#call = call
  }

  write(chunk: Buffer): boolean {
    // An empty chunk would end the body (RFC 9112 section 7.1).
    if (chunk.length > 0) {
      this.#call.content(chunk, 0, chunk.length, false)
      this.#call.flush()
    }
    return !this.#call.full
  }

  end(trailers: HeaderList): void {
    this.#call.finishRequest(trailers.map(([name, value]) => `${name}: ${value}\r\n`).join(""))
    this.#call.flush()
  }

  pause(): void {
    this.#call.pause()
  }

  resume(): void {
    this.#call.resume()
  }

  abort(): void {
    this.#call.abort()
  }
}

function listOf(headers: HeaderBlock): HeaderList {
  const list: (readonly [string, string])[] = []
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    const ofHop =
      kind === FIELD_KIND.connection ||
      kind === FIELD_KIND.hop ||
      kind === FIELD_KIND.te ||
      kind === FIELD_KIND.transferEncoding ||
      kind === FIELD_KIND.upgrade
    if (!ofHop) list.push([headers.name(index), headers.value(index)])
  }
  return list
}
