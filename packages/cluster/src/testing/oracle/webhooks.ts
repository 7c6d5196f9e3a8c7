// SPDX-License-Identifier: Apache-2.0
// The webhook server of a case: responds as the case defines, echoes the uid of the review, and records its requests.

import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { dig, type Json } from "../../value.js"
import { parseJson, stringify } from "../../wire/json.js"
import type { WebhookRoute } from "./case.js"

export class OracleWebhooks {
  routes: Record<string, WebhookRoute> = {}
  #calls: { path: string; body: Json }[] = []
  readonly #server: Server
  url = ""

  constructor(cert: string, key: string) {
    this.#server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const path = request.url ?? "/"
        const route = this.routes[path.split("?")[0] ?? ""] ?? { status: 404, rawBody: "no route" }
        const review = parseJson(Buffer.concat(chunks).toString()).value
        this.#calls.push({ path, body: review })
        const uid = dig(review, "request", "uid")
        const text =
          route.body === undefined
            ? (route.rawBody ?? "")
            : stringify(route.body).replaceAll("<echo-uid>", typeof uid === "string" ? uid : "")
        setTimeout(
          () => response.writeHead(route.status ?? 200, { "Content-Type": "application/json" }).end(text),
          (route.delay ?? 0) * 1000,
        )
      })
    })
  }

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve))
    this.url = `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  take(): Json[] {
    const calls = this.#calls.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
    this.#calls = []
    return calls
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
