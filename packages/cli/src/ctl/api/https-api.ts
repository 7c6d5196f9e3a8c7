// SPDX-License-Identifier: Apache-2.0
// The API over HTTPS, for one command's life: connections are kept between its requests, papers are asked for with each.

import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http"
import { Agent as HttpsAgent, request as requestHttps } from "node:https"
import { createInterface } from "node:readline"
import { TLS_FLOOR } from "@merlon/identity"
import { type Api, ApiFailure, type ApiRequest, failureOf } from "./api.js"
import { readWarnings } from "./warning-header.js"

/** What is needed of a connection; `Connection` of the control plane is one. */
export interface Reachable {
  readonly server: string
  readonly serverName?: string
  readonly insecure: boolean
  papers(): Promise<{
    readonly ca?: string
    readonly certificate?: string
    readonly key?: string
    readonly token?: string
  }>
  refused(): void
}

export interface HttpsApiOptions {
  readonly userAgent: string
  readonly timeoutMs: number
  readonly warn: (text: string) => void
}

const MAX_BODY = 256 << 20
const MAX_TRIES = 4
const LONGEST_PAUSE_MS = 10_000

export class HttpsApi implements Api {
  readonly #connection: Reachable
  readonly #options: HttpsApiOptions
  readonly #warned = new Set<string>()
  #agent: { readonly key: string; readonly agent: HttpAgent } | undefined

  constructor(connection: Reachable, options: HttpsApiOptions) {
    this.#connection = connection
    this.#options = options
  }

  async request(request: ApiRequest): Promise<unknown> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs)
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#send(request, signal)
      const text = await this.#read(answer)
      const status = answer.statusCode ?? 0
      if (status >= 200 && status < 300) return jsonOf(status, text)
      if (status === 401) this.#connection.refused()
      const pause = attempt < MAX_TRIES ? pauseBefore(status, attempt, answer.headers["retry-after"]) : undefined
      if (pause === undefined || signal.aborted) throw failureOf(status, text)
      await new Promise(resolve => setTimeout(resolve, pause))
    }
  }

  async *lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string> {
    const answer = await this.#send(request, signal)
    if (answer.statusCode !== 200) throw failureOf(answer.statusCode ?? 0, await this.#read(answer))
    try {
      for await (const line of createInterface({ input: answer, crlfDelay: Number.POSITIVE_INFINITY })) {
        if (line !== "") yield line
      }
    } catch (error) {
      if (!signal.aborted) throw this.#unreachable(error)
    } finally {
      answer.destroy()
    }
  }

  close(): void {
    this.#agent?.agent.destroy()
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      const answer = await this.#exchange(request, signal)
      for (const warning of readWarnings(answer.headersDistinct.warning ?? [])) {
        if (!this.#warned.has(warning)) this.#options.warn(warning)
        this.#warned.add(warning)
      }
      return answer
    } catch (error) {
      throw this.#unreachable(error)
    }
  }

  async #exchange(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, contentType = "application/json", accept = "application/json" } = request
    const papers = await this.#connection.papers()
    const url = new URL(this.#connection.server)
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    const options = {
      method,
      agent: this.#agentFor(url, papers),
      signal,
      headers: {
        accept,
        "user-agent": this.#options.userAgent,
        ...(papers.token === undefined ? {} : { authorization: `Bearer ${papers.token}` }),
        ...(body === undefined ? {} : { "content-type": contentType, "content-length": body.length }),
      },
    }
    const target = `${url.origin}${url.pathname.replace(/\/$/, "")}${path}`
    return new Promise((resolve, reject) => {
      const send: (target: string, given: typeof options) => ClientRequest =
        url.protocol === "https:" ? requestHttps : requestHttp
      send(target, options).once("response", resolve).once("error", reject).end(body)
    })
  }

  #agentFor(url: URL, papers: Awaited<ReturnType<Reachable["papers"]>>): HttpAgent {
    const { ca, certificate, key } = papers
    const identity = JSON.stringify([ca, certificate, key])
    if (this.#agent?.key === identity) return this.#agent.agent
    const { serverName, insecure } = this.#connection
    const agent =
      url.protocol === "https:"
        ? new HttpsAgent({
            keepAlive: true,
            ...TLS_FLOOR,
            rejectUnauthorized: !insecure,
            ...(serverName === undefined ? {} : { servername: serverName }),
            ...(ca === undefined ? {} : { ca }),
            ...(certificate === undefined ? {} : { cert: certificate }),
            ...(key === undefined ? {} : { key }),
          })
        : new HttpAgent({ keepAlive: true })
    this.#agent = { key: identity, agent }
    return agent
  }

  async #read(answer: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        // no encoding is set, so bytes
        size += chunk.length
        if (size > MAX_BODY) throw new Error(`the answer has more than ${MAX_BODY} bytes`)
        chunks.push(chunk)
      }
    } catch (error) {
      throw this.#unreachable(error)
    }
    return Buffer.concat(chunks).toString("utf8")
  }

  #unreachable(error: unknown): ApiFailure {
    if (error instanceof ApiFailure) return error
    const { code = "", name, message } = error as NodeJS.ErrnoException // what Node's clients throw
    const why = name === "AbortError" || name === "TimeoutError" ? "it took too long" : message || code
    return new ApiFailure(0, "Unreachable", `no answer from \`${this.#connection.server}\`: ${why}${hint(code)}`)
  }
}

function hint(code: string): string {
  if (code === "ECONNREFUSED") return "; is it running?"
  if (/CERT|SELF_SIGNED|ISSUER|ALTNAME|UNABLE_TO/.test(code)) return "; check `certificate-authority` and the host name"
  return ""
}

/** Undefined where there must be no further try. 429 says that nothing was done; 401 once, as papers get renewed. */
function pauseBefore(status: number, attempt: number, retryAfter: string | undefined): number | undefined {
  if (status === 401) return attempt === 1 ? 0 : undefined
  if (status !== 429) return undefined
  const asked = Number(retryAfter)
  return Math.min(asked > 0 ? asked * 1000 : 200 * 2 ** attempt, LONGEST_PAUSE_MS)
}

function jsonOf(status: number, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiFailure(0, "BadAnswer", `the API server answered ${status} without JSON; is that the right address?`)
  }
}
