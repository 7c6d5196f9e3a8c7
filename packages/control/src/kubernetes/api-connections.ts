// SPDX-License-Identifier: Apache-2.0
// Connections to the API server under one identity, kept for the next request. Uses Node's own client: the parser of
// undici is WebAssembly, and compiling it took two fifths of the CPU time of a merlonctl command.

import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from "node:http"
import { Agent as HttpsAgent, request as requestHttps } from "node:https"
import type { SecureContext } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"

export interface Outgoing {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

export interface TlsOptions {
  readonly secureContext: SecureContext
  readonly rejectUnauthorized: boolean
  readonly servername?: string
}

/** Each watch needs a connection. More would not make the API faster, and each costs both sides a handshake. */
const MAX_CONNECTIONS = 48
const IDLE_MS = 30_000
const CONNECT_MS = 10_000

export class ApiConnections {
  readonly #server: URL
  readonly #agent: HttpAgent
  readonly #open = new Set<ClientRequest>()

  constructor(server: URL, tls: TlsOptions) {
    this.#server = server
    const kept = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS }
    this.#agent = this.#isPlain ? new HttpAgent(kept) : new HttpsAgent({ ...kept, ...TLS_FLOOR, ...tls })
  }

  /**
   * Resolves once the response headers arrive, or rejects after the timeout. The signal also ends the body, with its
   * own reason.
   */
  send({ body, headers, ...rest }: Outgoing, signal: AbortSignal, timeoutMs: number): Promise<IncomingMessage> {
    const { hostname, port } = this.#server
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) }
    const options: RequestOptions = {
      ...rest,
      headers: { ...headers, ...length },
      agent: this.#agent,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
    }
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const request = this.#isPlain ? requestHttp(options) : requestHttps(options)
      this.#open.add(request)
      let abort = (): unknown => request.destroy(signal.reason)
      const onAbort = (): unknown => abort()
      signal.addEventListener("abort", onAbort)
      const late = setTimeout(() => request.destroy(tooLong()), timeoutMs)
      request.once("socket", socket => {
        // A reused connection is connected already.
        if (!socket.connecting) return
        const connecting = setTimeout(() => request.destroy(tooLong()), CONNECT_MS)
        const settled = (): void => clearTimeout(connecting)
        socket.once(this.#isPlain ? "connect" : "secureConnect", settled).once("close", settled)
      })
      request.once("response", response => {
        clearTimeout(late)
        abort = () => response.destroy(signal.reason)
        resolve(response)
      })
      // Stays registered: a connection that fails after the answer has begun also reports it to the request.
      request.on("error", reject)
      request.once("close", () => {
        clearTimeout(late)
        signal.removeEventListener("abort", onAbort)
        this.#open.delete(request)
        // Settles the promise whatever ended the request.
        reject(new Error("the connection was closed before a response arrived"))
      })
      request.end(body ?? undefined)
    })
  }

  /** Lets running requests finish, and does not keep their connections. */
  retire(): void {
    this.#agent.maxFreeSockets = 0
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy()
  }

  /** Ends all requests at once, including those that wait for a connection. */
  destroy(): void {
    for (const request of this.#open) request.destroy(new Error("the client is closed"))
    this.#agent.destroy()
  }

  get #isPlain(): boolean {
    return this.#server.protocol === "http:"
  }
}

/** The same error as `AbortSignal.timeout` gives. */
function tooLong(): DOMException {
  return new DOMException("the operation timed out", "TimeoutError")
}
