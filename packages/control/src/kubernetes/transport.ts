// SPDX-License-Identifier: Apache-2.0
// One request to the API and its response, for the control plane and for commands: credentials, deadlines, sizes,
// warnings, and safe retries. Connections are reused; a new certificate opens new ones and lets the old ones finish.

import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import { createSecureContext } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { ApiConnections, type Outgoing } from "./api-connections.js"
import { statusError, unreachable } from "./api-failure.js"
import { ApiError } from "./client.js"
import type { Connection, Credentials } from "./connection.js"
import { readBody } from "./read-body.js"
import { pause, SYSTEM_TIME, type Time } from "./time.js"
import { readWarnings } from "./warning-header.js"
import { watchLines } from "./watch-lines.js"

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Includes the query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
}

export interface Api {
  /** The body as JSON. Every failure is an `ApiError`. */
  request(request: ApiRequest): Promise<unknown>
  /** The lines of an endless body, until the signal aborts. */
  lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string>
  close(): Promise<void>
}

/** A request that is forwarded for another client, unchanged. */
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
  /** Limit for a whole request with its retries. */
  readonly timeoutMs: number
  /**
   * Whether reads wait for a server that is unreachable or not ready: right for a service, wrong for a user who waits.
   */
  readonly stays?: boolean
  /** Called once for each warning of the server. */
  readonly warn?: (text: string) => void
}

const PAGE = /^text\/html\b/
const MAX_TRIES = 4
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000

export class Transport implements Api {
  readonly #connection: Connection
  readonly #options: TransportOptions
  readonly #base: URL
  readonly #warned = new Set<string>()
  #kept: { readonly identity: string; readonly connections: ApiConnections } | undefined
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
      // Reports the server's last error instead of a timeout.
      if (signal.aborted) throw outcome.error
    }
  }

  async *lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string> {
    try {
      const body = await this.#stream(request, signal)
      try {
        yield* watchLines(body)
      } finally {
        // Also if the consumer leaves early. A destroyed body emits an error, which needs a listener.
        body.on("error", () => {})
        body.destroy()
      }
    } catch (error) {
      if (signal.aborted) return
      throw unreachable(this.#connection.server, error)
    }
  }

  /** Sends once and returns the response as it is. The caller reads or destroys its body. */
  async pass({ method, path, accept, contentType, body }: PassedRequest, signal: AbortSignal): Promise<PassedAnswer> {
    const answer = await this.#request(
      {
        method,
        path,
        body: body ?? null,
        headers: { accept, ...(contentType === undefined ? {} : { "content-type": contentType }) },
      },
      signal,
    )
    if (answer.statusCode === 401) this.#connection.rejected()
    // If the consumer leaves before the end of the response, there is an error event, and without a listener that would
    // end the process.
    answer.on("error", () => undefined)
    return {
      status: statusOf(answer),
      contentType: answer.headers["content-type"] ?? "",
      warnings: answer.headersDistinct.warning ?? [],
      body: answer,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#kept?.connections.destroy()
  }

  async #stream(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const answer = await this.#send(request, signal)
    const statusCode = statusOf(answer)
    if (statusCode === 200 && !PAGE.test(String(answer.headers["content-type"]))) return answer
    const { value, text } = await readBody(answer)
    if (statusCode === 200) throw ApiError.unanswered("api-bad-response", statusError(statusCode, value, text).message)
    if (statusCode === 401) this.#connection.rejected()
    throw statusError(statusCode, value, text)
  }

  async #attempt(request: ApiRequest, signal: AbortSignal): Promise<{ readonly value: unknown } | Failure> {
    try {
      const answer = await this.#send(request, signal)
      const statusCode = statusOf(answer)
      const { value, text } = await readBody(answer)
      if (statusCode >= 200 && statusCode < 300) {
        // The API always answers with an object; anything else comes from another server.
        return typeof value === "object" && value !== null && !Array.isArray(value)
          ? { value }
          : new Failure(
              ApiError.unanswered(
                "api-bad-response",
                `the API server answered ${statusCode} without a JSON object; is that the right address?`,
              ),
            )
      }
      if (statusCode === 401) this.#connection.rejected()
      return new Failure(statusError(statusCode, value, text), answer.headers["retry-after"])
    } catch (error) {
      return new Failure(unreachable(this.#connection.server, error))
    }
  }

  /** Returns how long to wait before a retry; undefined for no retry. */
  #wait({ method }: ApiRequest, { error, retryAfter }: Failure, attempt: number): number | undefined {
    const { stays = false, random = Math.random } = this.#options
    // These two answers say that nothing was done, or to try again. Otherwise the request may have taken effect, and
    // only a read is safe to repeat.
    const undone = error.code === 429 || error.reason === "ServerTimeout"
    const again = undone || (stays && method === "GET" && (error.code === 503 || error.code === 0))
    // Once after a 401: the credentials may just have been renewed.
    const renewed = error.code === 401 && attempt === 1
    if (error.reason === "api-no-credentials" || this.#closed) return undefined
    if (!again && !renewed) return undefined
    if (renewed) return 0
    const asked = Number(retryAfter)
    if (asked >= 0) return Math.min(asked * 1000, MAX_PAUSE_MS)
    return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS) * (0.5 + random())
  }

  async #send(
    { method, path, body, contentType = "application/json", accept = "application/json" }: ApiRequest,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const headers = { accept, ...(body === undefined ? {} : { "content-type": contentType }) }
    const sent = { method, path, headers, body: body === undefined ? null : JSON.stringify(body) }
    const answer = await this.#request(sent, signal)
    this.#notify(answer.headersDistinct.warning ?? [])
    return answer
  }

  #notify(lines: readonly string[]): void {
    const { warn } = this.#options
    if (warn === undefined) return
    for (const text of readWarnings(lines)) {
      if (!this.#warned.has(text)) warn(text)
      this.#warned.add(text)
    }
  }

  async #request({ path, headers, ...rest }: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
    const credentials = await this.#connection.credentials()
    const sent = {
      ...rest,
      path: `${this.#base.pathname.replace(/\/$/, "")}${path}`,
      headers: {
        ...headers,
        "user-agent": this.#options.userAgent,
        ...(credentials.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` }),
      },
    }
    return this.#connectionsFor(credentials).send(sent, signal, this.#options.timeoutMs)
  }

  #connectionsFor({ ca, certificate, key }: Credentials): ApiConnections {
    if (this.#closed) throw ApiError.unanswered("api-client-closed", "the client is closed")
    const identity = JSON.stringify([ca, certificate, key])
    if (this.#kept?.identity === identity) return this.#kept.connections
    const { serverName, insecure } = this.#connection
    const connections = new ApiConnections(this.#base, {
      rejectUnauthorized: !insecure,
      ...(serverName === undefined ? {} : { servername: serverName }),
      // Created once: reading roots and keys costs more than the rest of a connection.
      secureContext: createSecureContext({
        ...TLS_FLOOR,
        ...(ca === undefined ? {} : { ca }),
        ...(certificate === undefined ? {} : { cert: certificate }),
        ...(key === undefined ? {} : { key }),
      }),
    })
    // Watches on the old connections continue until they end.
    this.#kept?.connections.retire()
    this.#kept = { identity, connections }
    return connections
  }
}

/** Node's type is also that of requests, which have no status. */
function statusOf({ statusCode = 0 }: IncomingMessage): number {
  return statusCode
}

class Failure {
  constructor(
    readonly error: ApiError,
    readonly retryAfter?: string,
  ) {}
}
