// SPDX-License-Identifier: Apache-2.0
// An HTTP server that responds as a test says and records its requests: for behaviour that a real API server does not
// show on demand.

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http"
import { createServer as createTlsServer, type ServerOptions } from "node:https"
import type { AddressInfo } from "node:net"

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly message: IncomingMessage
}

export type Answer = (asked: Asked, response: ServerResponse) => void

export class ScriptedApi {
  readonly asked: Asked[] = []
  url = ""
  readonly #server: Server

  private constructor(answer: Answer, tls: ServerOptions | undefined) {
    const handle = (message: IncomingMessage, response: ServerResponse): void => {
      void this.#answer(answer, message, response)
    }
    this.#server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
  }

  static async start(answer: Answer, tls?: ServerOptions): Promise<ScriptedApi> {
    const api = new ScriptedApi(answer, tls)
    await new Promise<void>(resolve => api.#server.listen(0, "127.0.0.1", resolve))
    const { port } = api.#server.address() as AddressInfo // a TCP server has a port
    api.url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`
    return api
  }

  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(answer: Answer, message: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ""
    for await (const chunk of message.setEncoding("utf8")) body += String(chunk)
    const { method = "", url = "/", headers } = message
    const asked = { method, url: new URL(url, "http://api"), headers, body, message }
    this.asked.push(asked)
    answer(asked, response)
  }
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: { [name: string]: string } = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

export function failure(response: ServerResponse, code: number, reason: string, message: string, headers = {}): void {
  reply(response, code, { apiVersion: "v1", kind: "Status", status: "Failure", code, reason, message }, headers)
}
