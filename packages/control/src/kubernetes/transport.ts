// SPDX-License-Identifier: Apache-2.0
// One request to the API and its answer: papers, deadlines, sizes, and trying again where that can do no harm. Connections
// are kept; a change of certificate makes new ones and lets the old ones finish.

import { createSecureContext } from "node:tls"
import { TLS_FLOOR } from "@merlon/identity"
import { type Dispatcher, Pool } from "undici"
import { statusError, unreachable } from "./api-failure.js"
import { ApiError } from "./client.js"
import type { Connection, Papers } from "./connection.js"
import { pause, type Time } from "./time.js"

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
}

export interface TransportOptions {
  readonly userAgent: string
  readonly time: Time
  readonly random: () => number
  /** For the whole of a request, tries included. */
  readonly timeoutMs: number
}

const MAX_BODY = 256 << 20
const MAX_TRIES = 4
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000
/** Watches hold one each. More would not make the API faster, and each costs both sides a handshake. */
const MAX_CONNECTIONS = 48

export class Transport {
  readonly #connection: Connection
  readonly #options: TransportOptions
  readonly #base: URL
  #pool: { readonly key: string; readonly pool: Pool } | undefined
  #closed = false

  constructor(connection: Connection, options: TransportOptions) {
    this.#connection = connection
    this.#options = options
    this.#base = new URL(connection.server)
  }

  /** The body as JSON. Every failure is an `ApiError`. */
  async json(request: ApiRequest): Promise<unknown> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs)
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request, signal)
      if (!(outcome instanceof Failure)) return outcome.value
      const wait = attempt < MAX_TRIES && !signal.aborted ? this.#wait(request, outcome, attempt) : undefined
      if (wait === undefined) throw outcome.error
      await pause(this.#options.time, wait, signal)
    }
  }

  /** A body that has no end; the caller reads or destroys it. */
  async stream(request: ApiRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData["body"]> {
    try {
      const { statusCode, body } = await this.#send(request, signal, 0)
      if (statusCode === 200) return body
      const { value, text } = await readBody(body)
      if (statusCode === 401) this.#connection.refused()
      throw statusError(statusCode, value, text)
    } catch (error) {
      throw unreachable(this.#connection.server, error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#pool?.pool.destroy()
  }

  async #attempt(request: ApiRequest, signal: AbortSignal): Promise<{ readonly value: unknown } | Failure> {
    try {
      const { statusCode, headers, body } = await this.#send(request, signal, this.#options.timeoutMs)
      const { value, text } = await readBody(body)
      if (statusCode >= 200 && statusCode < 300) {
        return value === undefined
          ? new Failure(ApiError.unanswered("BadAnswer", `the API server answered ${statusCode} without JSON`))
          : { value }
      }
      if (statusCode === 401) this.#connection.refused()
      return new Failure(statusError(statusCode, value, text), headers["retry-after"])
    } catch (error) {
      return new Failure(unreachable(this.#connection.server, error))
    }
  }

  /** How long to wait before the next try; undefined where there must be none. */
  #wait({ method }: ApiRequest, { error, retryAfter }: Failure, attempt: number): number | undefined {
    const reads = method === "GET"
    // 429 says that nothing was done. Everything else may have been done, and only reading does no harm twice.
    const again = error.code === 429 || (reads && (error.code === 503 || error.code === 0))
    // 401 once: the papers may just have been renewed.
    const renewed = error.code === 401 && attempt === 1
    if (error.reason === "NoCredentials" || this.#closed) return undefined
    if (!again && !renewed) return undefined
    if (renewed) return 0
    const asked = Number(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter)
    if (asked >= 0) return Math.min(asked * 1000, MAX_PAUSE_MS)
    return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS) * (0.5 + this.#options.random())
  }

  async #send(
    { method, path, body, contentType = "application/json" }: ApiRequest,
    signal: AbortSignal,
    bodyTimeout: number,
  ): Promise<Dispatcher.ResponseData> {
    const papers = await this.#connection.papers()
    return this.#poolFor(papers).request({
      method,
      path: `${this.#base.pathname.replace(/\/$/, "")}${path}`,
      headers: {
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(papers.token === undefined ? {} : { authorization: `Bearer ${papers.token}` }),
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
      headersTimeout: this.#options.timeoutMs,
      bodyTimeout,
    })
  }

  #poolFor({ ca, certificate, key }: Papers): Pool {
    if (this.#closed) throw ApiError.unanswered("Closed", "the client is closed")
    const identity = JSON.stringify([ca, certificate, key])
    if (this.#pool?.key === identity) return this.#pool.pool
    const { serverName, insecure } = this.#connection
    const pool = new Pool(this.#base.origin, {
      connections: MAX_CONNECTIONS,
      keepAliveTimeout: 30_000,
      connect: {
        timeout: 10_000,
        rejectUnauthorized: !insecure,
        ...(serverName === undefined ? {} : { servername: serverName }),
        // Made once: reading roots and keys costs more than the rest of a connection.
        secureContext: createSecureContext({
          ...TLS_FLOOR,
          ...(ca === undefined ? {} : { ca }),
          ...(certificate === undefined ? {} : { cert: certificate }),
          ...(key === undefined ? {} : { key }),
        }),
      },
    })
    // Watches on the old connections go on until they end by themselves.
    void this.#pool?.pool.close().catch(() => {})
    this.#pool = { key: identity, pool }
    return pool
  }
}

class Failure {
  constructor(
    readonly error: ApiError,
    readonly retryAfter?: string | string[],
  ) {}
}

async function readBody(
  body: Dispatcher.ResponseData["body"],
): Promise<{ readonly value: unknown; readonly text: string }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // no encoding is set, so bytes
    size += chunk.length
    if (size > MAX_BODY) throw ApiError.unanswered("TooLarge", `the API server answered more than ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString("utf8")
  try {
    return { value: JSON.parse(text), text }
  } catch {
    return { value: undefined, text }
  }
}
