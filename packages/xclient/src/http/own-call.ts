// SPDX-License-Identifier: Apache-2.0
// Sends one request of our own without content, in the same way as the workload's requests. Resolves with the response
// and its sender; of a long response only the beginning is kept, and reading stops at a limit.

import { type BorrowedBytes, parseRequestHead } from "@merlon/wire"
import { HTTP_ERRORS, type LocalReply, type RequestHead, type Responder, type ResponseHead } from "@merlon/wire/http"
import { CallFailure } from "../call/call-failure.js"
import { type RequestRouter, RoutedExchange } from "./routed-exchange.js"

export interface OwnRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** By lower-case name, including `host`. */
  readonly headers: ReadonlyMap<string, string>
}

export interface OwnResponse {
  /** Display name of the destination that answered. */
  readonly name: string
  readonly status: number
  /** The beginning of the body. */
  readonly body: string
}

const MAX_HEADERS = 1_000
const MAX_READ = 10 * 1_048_576
const MAX_KEPT = 4_096
/** RFC 9110 section 8.6: requests with these methods state that they have no content. */
const WITH_CONTENT: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"])

/** Rejects with a CallFailure. The limit covers the connection, the response and its end. */
export async function ownCall(router: RequestRouter, request: OwnRequest, timeoutMs: number): Promise<OwnResponse> {
  const head = headOf(request)
  let timer: NodeJS.Timeout | undefined
  let exchange: RoutedExchange | undefined
  try {
    return await new Promise((resolve, reject) => {
      const late = () => reject(new CallFailure("too-late", `no response within ${timeoutMs} ms`))
      timer = setTimeout(late, timeoutMs)
      const collector = new Collector(resolve, reject)
      exchange = new RoutedExchange(collector.listening(router), collector, head)
      if (exchange.begin() === "forwarded") {
        exchange.requestEnd(undefined)
        exchange.flush()
      } else {
        exchange.reject()
      }
    })
  } finally {
    clearTimeout(timer)
    exchange?.abort()
  }
}

function headOf({ method, target, headers }: OwnRequest): RequestHead {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  const isFramed = headers.has("content-length") || headers.has("transfer-encoding")
  if (WITH_CONTENT.has(method) && !isFramed) lines.push("content-length: 0\r\n")
  const head = parseRequestHead(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`, MAX_HEADERS)
  if (typeof head !== "string") return head
  throw new CallFailure("bad-request", `the request cannot be sent: ${HTTP_ERRORS[head].text}`)
}

class Collector implements Responder {
  readonly #resolve: (response: OwnResponse) => void
  readonly #reject: (failure: CallFailure) => void
  #failure: CallFailure | undefined
  #name = ""
  #status = 0
  #body = ""
  #read = 0
  readonly full = false

  constructor(resolve: (response: OwnResponse) => void, reject: (failure: CallFailure) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The same router, but its choice and its failure are recorded. */
  listening(router: RequestRouter): RequestRouter {
    return {
      ...router,
      choose: call => {
        const choice = router.choose(call)
        this.#name = choice.name
        return choice
      },
      failed: failure => {
        this.#failure = failure
        return router.failed(failure)
      },
    }
  }

  respond({ status }: ResponseHead): boolean {
    this.#status = status
    // After a protocol switch, the end cannot be recognised.
    if (status === 101) this.end()
    return true
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    const room = MAX_KEPT - this.#body.length
    if (room > 0) this.#body += bytes.toString("latin1", from, Math.min(to, from + room))
    this.#read += to - from
    if (this.#read > MAX_READ) this.end()
  }

  end(): void {
    const body = Buffer.from(this.#body, "latin1").toString("utf8")
    this.#resolve({ name: this.#name, status: this.#status, body })
  }

  reply({ body }: LocalReply): void {
    this.#reject(this.#failure ?? new CallFailure("cut-off", body))
  }

  breakOff(): void {
    this.#reject(new CallFailure("cut-off", `\`${this.#name}\` closed the connection before its response was complete`))
  }

  informational(): void {}
  flush(): void {}
  requestWritable(): void {}
}
