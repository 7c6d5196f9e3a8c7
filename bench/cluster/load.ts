// SPDX-License-Identifier: Apache-2.0
//
// The client of the measurements: creates, lists and watches over HTTPS, as cheaply as possible, because it shares the
// machine with the server under test.

import type { IncomingMessage } from "node:http"
import { type Agent, request } from "node:https"

const PATH = "/api/v1/namespaces/default/configmaps"
const NEWLINE = 10

export interface Watchers {
  /** Number of events that have arrived, over all watchers. */
  received(): number
  close(): void
}

export class Load {
  constructor(
    readonly url: string,
    readonly agents: { short: Agent; long: Agent },
    readonly headers: Readonly<Record<string, string>>,
  ) {}

  async ready(): Promise<boolean> {
    try {
      return (await this.#ask("GET", "/readyz")).status === 200
    } catch {
      return false
    }
  }

  async create(name: string, bytes: number): Promise<void> {
    const body = JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, labels: { app: "bench" } },
      data: { text: "x".repeat(bytes) },
    })
    const { status, text } = await this.#ask("POST", PATH, body)
    if (status !== 201) throw new Error(`create answered ${status}: ${text.slice(0, 300)}`)
  }

  /** Returns the size of the whole response in bytes. */
  async list(expected: number): Promise<number> {
    const response = await this.#send("GET", PATH, this.agents.short)
    let bytes = 0
    let items = 0
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length
      // Counts names instead of parsing, so that the client's own cost is not measured.
      items += (chunk as Buffer).toString("latin1").split('"creationTimestamp"').length - 1
    }
    // A name may be split by the end of a chunk.
    if (response.statusCode !== 200 || items < expected * 0.99) throw new Error(`list answered ${items} items`)
    return bytes
  }

  async revision(): Promise<string> {
    const { text } = await this.#ask("GET", `${PATH}?limit=1`)
    return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion
  }

  async watch(count: number): Promise<Watchers> {
    const from = await this.revision()
    const open: IncomingMessage[] = []
    let events = 0
    // A few handshakes at a time: a thousand at once would measure TLS.
    for (let i = 0; i < count; i += 20) {
      const some = Array.from({ length: Math.min(20, count - i) }, () =>
        this.#send("GET", `${PATH}?watch=1&resourceVersion=${from}`, this.agents.long),
      )
      for (const response of await Promise.all(some)) {
        if (response.statusCode !== 200) throw new Error(`watch answered ${response.statusCode}`)
        response.on("data", (chunk: Buffer) => {
          for (const byte of chunk) if (byte === NEWLINE) events++
        })
        response.on("error", () => undefined)
        open.push(response)
      }
    }
    return {
      received: () => events,
      close: () => {
        for (const response of open) response.destroy()
      },
    }
  }

  async #ask(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const response = await this.#send(method, path, this.agents.short, body)
    let text = ""
    response.setEncoding("utf8")
    for await (const chunk of response) text += String(chunk)
    return { status: response.statusCode ?? 0, text }
  }

  #send(method: string, path: string, agent: Agent, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) }
      const sent = request(`${this.url}${path}`, { method, agent, headers }, resolve)
      sent.once("error", reject)
      sent.end(body)
    })
  }
}
