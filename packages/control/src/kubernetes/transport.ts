// SPDX-License-Identifier: Apache-2.0
// One request to the API and its answer, for the control plane and for the commands of people: credentials, deadlines, sizes,
// warnings, and trying again where that can do no harm. Connections are kept; a change of certificate makes new ones and
// lets the old ones finish.

import type { Readable } from "node:stream"
import { createSecureContext } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { type Dispatcher, Pool } from "undici"
import { statusError, unreachable } from "./api-failure.js"
import { ApiError } from "./client.js"
import type { Connection, Credentials } from "./connection.js"
import { readBody } from "./read-body.js"
import { pause, SYSTEM_TIME, type Time } from "./time.js"
import { readWarnings } from "./warning-header.js"
import { watchLines } from "./watch-lines.js"

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
}

export interface Api {
  /** The body as JSON. Every failure is an `ApiError`. */
  request(request: ApiRequest): Promise<unknown>
  /** The lines of a body that has no end, until the signal says so. */
  lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string>
  close(): Promise<void>
}

/** As somebody else wrote it, for whom it is sent. */
export interface PassedRequest {
  readonly method: string
  readonly path: string
  readonly accept: string
  readonly contentType?: string
  readonly body?: Buffer
}

export interface PassedAnswer {
  readonly status: number
  readonly contentType: string
  readonly warnings: readonly string[]
  readonly body: Readable
}

export interface TransportOptions {
  readonly userAgent: string
  readonly time?: Time
  readonly random?: () => number
  /** For the whole of a request, tries included. */
  readonly timeoutMs: number
  /** Whether reading waits for a server that is away or not ready: right for a service, wrong for a person who waits. */
  readonly stays?: boolean
  /** Hears each warning of the server once. */
  readonly warn?: (text: string) => void
}

const PAGE = /^text\/html\b/
const MAX_TRIES = 4
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000
/** Watches hold one each. More would not make the API faster, and each costs both sides a handshake. */
const MAX_CONNECTIONS = 48

export class Transport implements Api {
  readonly #connection: Connection
  readonly #options: TransportOptions
  readonly #base: URL
  readonly #warned = new Set<string>()
  #pool: { readonly key: string; readonly pool: Pool } | undefined
  #closed = false

  constructor(connection: Connection, options: TransportOptions) {
    this.#connection = connection
    this.#options = options
    this.#base = new URL(connection.server)
  }

  async request(request: ApiRequest): Promise<unknown> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs)
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request, signal)
      if (!(outcome instanceof Failure)) return outcome.value
      const wait = attempt < MAX_TRIES && !signal.aborted ? this.#wait(request, outcome, attempt) : undefined
      if (wait === undefined) throw outcome.error
      await pause(this.#options.time ?? SYSTEM_TIME, wait, signal)
      // What was said is told, not that there was no time to hear it again.
      if (signal.aborted) throw outcome.error
    }
  }

  async *lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string> {
    try {
      const body = await this.#stream(request, signal)
      try {
        yield* watchLines(body)
      } finally {
        // Also where the consumer leaves early. A destroyed body reports that as an error nobody waits for.
        body.on("error", () => {})
        body.destroy()
      }
    } catch (error) {
      if (signal.aborted) return
      throw unreachable(this.#connection.server, error)
    }
  }

  /** One try, and the answer as it is, whatever it says. The caller reads or destroys its body. */
  async pass({ method, path, accept, contentType, body }: PassedRequest, signal: AbortSignal): Promise<PassedAnswer> {
    const answer = await this.#request(
      {
        method,
        path,
        body: body ?? null,
        headers: { accept, ...(contentType === undefined ? {} : { "content-type": contentType }) },
      },
      signal,
      0,
    )
    if (answer.statusCode === 401) this.#connection.refused()
    // Whoever lets go of the answer before its end is told so by an event, and one that nobody hears would end the process.
    answer.body.on("error", () => undefined)
    const { "content-type": type, warning } = answer.headers
    return {
      status: answer.statusCode,
      contentType: [type].flat()[0] ?? "",
      warnings: warning === undefined ? [] : [warning].flat(),
      body: answer.body,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#pool?.pool.destroy()
  }

  async #stream(request: ApiRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData["body"]> {
    const { statusCode, headers, body } = await this.#send(request, signal, 0)
    if (statusCode === 200 && !PAGE.test(String(headers["content-type"]))) return body
    const { value, text } = await readBody(body)
    if (statusCode === 200) throw ApiError.unanswered("api-bad-response", statusError(statusCode, value, text).message)
    if (statusCode === 401) this.#connection.refused()
    throw statusError(statusCode, value, text)
  }

  async #attempt(request: ApiRequest, signal: AbortSignal): Promise<{ readonly value: unknown } | Failure> {
    try {
      const { statusCode, headers, body } = await this.#send(request, signal, this.#options.timeoutMs)
      const { value, text } = await readBody(body)
      if (statusCode >= 200 && statusCode < 300) {
        // Whatever the API says is an object; who says something else is another server.
        return typeof value === "object" && value !== null && !Array.isArray(value)
          ? { value }
          : new Failure(
              ApiError.unanswered(
                "api-bad-response",
                `the API server answered ${statusCode} without a JSON object; is that the right address?`,
              ),
            )
      }
      if (statusCode === 401) this.#connection.refused()
      return new Failure(statusError(statusCode, value, text), headers["retry-after"])
    } catch (error) {
      return new Failure(unreachable(this.#connection.server, error))
    }
  }

  /** How long to wait before the next try; undefined where there must be none. */
  #wait({ method }: ApiRequest, { error, retryAfter }: Failure, attempt: number): number | undefined {
    const { stays = false, random = Math.random } = this.#options
    // Two answers say that nothing was done, or to ask again. Everything else may have been done, and only reading does no harm twice.
    const undone = error.code === 429 || error.reason === "ServerTimeout"
    const again = undone || (stays && method === "GET" && (error.code === 503 || error.code === 0))
    // 401 once: the credentials may just have been renewed.
    const renewed = error.code === 401 && attempt === 1
    if (error.reason === "api-no-credentials" || this.#closed) return undefined
    if (!again && !renewed) return undefined
    if (renewed) return 0
    const asked = Number(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter)
    if (asked >= 0) return Math.min(asked * 1000, MAX_PAUSE_MS)
    return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS) * (0.5 + random())
  }

  async #send(
    { method, path, body, contentType = "application/json", accept = "application/json" }: ApiRequest,
    signal: AbortSignal,
    bodyTimeout: number,
  ): Promise<Dispatcher.ResponseData> {
    const headers = { accept, ...(body === undefined ? {} : { "content-type": contentType }) }
    const answer = await this.#request(
      { method, path, headers, body: body === undefined ? null : JSON.stringify(body) },
      signal,
      bodyTimeout,
    )
    const { warning } = answer.headers
    if (warning !== undefined) this.#tell([warning].flat())
    return answer
  }

  #tell(lines: readonly string[]): void {
    const { warn } = this.#options
    if (warn === undefined) return
    for (const text of readWarnings(lines)) {
      if (!this.#warned.has(text)) warn(text)
      this.#warned.add(text)
    }
  }

  async #request(
    { path, headers, ...rest }: Outgoing,
    signal: AbortSignal,
    bodyTimeout: number,
  ): Promise<Dispatcher.ResponseData> {
    const credentials = await this.#connection.credentials()
    return this.#poolFor(credentials).request({
      ...rest,
      path: `${this.#base.pathname.replace(/\/$/, "")}${path}`,
      headers: {
        ...headers,
        "user-agent": this.#options.userAgent,
        ...(credentials.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` }),
      },
      signal,
      headersTimeout: this.#options.timeoutMs,
      bodyTimeout,
    })
  }

  #poolFor({ ca, certificate, key }: Credentials): Pool {
    if (this.#closed) throw ApiError.unanswered("api-client-closed", "the client is closed")
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

interface Outgoing {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

class Failure {
  constructor(
    readonly error: ApiError,
    readonly retryAfter?: string | string[],
  ) {}
}
