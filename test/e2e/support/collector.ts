// SPDX-License-Identifier: Apache-2.0
// A collector of spans (OTLP over HTTP): a real server that records what it receives and responds as the test says.

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  /** By key, with values as text. */
  readonly attributes: { readonly [key: string]: string }
}

interface Pair {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

export class TraceCollector {
  readonly spans: CollectedSpan[] = []
  readonly resources: { readonly [key: string]: string }[] = []
  readonly paths: (string | undefined)[] = []
  /** Status of the following responses. */
  status = 200
  readonly #server = createServer((request, response) => {
    let text = ""
    request.on("data", (chunk: Buffer) => {
      text += chunk
    })
    request.on("end", () => {
      this.paths.push(request.url)
      if (this.status === 200) this.#take(text)
      response.writeHead(this.status).end("{}")
    })
  })

  static async start(): Promise<TraceCollector> {
    const collector = new TraceCollector()
    await new Promise<void>(resolve => collector.#server.listen(0, "127.0.0.1", () => resolve()))
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` // a TCP server has a port
  }

  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #take(text: string): void {
    const { resourceSpans } = JSON.parse(text)
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(byKey(resource.attributes))
      for (const { spans } of scopeSpans) {
        for (const span of spans) this.spans.push({ ...span, attributes: byKey(span.attributes) })
      }
    }
  }
}

function byKey(pairs: readonly Pair[]): { readonly [key: string]: string } {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ""]))
}
