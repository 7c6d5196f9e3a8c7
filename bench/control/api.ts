// SPDX-License-Identifier: Apache-2.0
// The administrator's side of the measurements: plain requests and watches over HTTPS, with the kubeconfig's
// credentials.

import type { IncomingMessage } from "node:http"
import { Agent, request } from "node:https"
import { credentials } from "../../test/resilience/support/cluster-process.js"

export interface ApiObject {
  readonly metadata: { readonly name: string; readonly uid?: string; readonly generation?: number }
  readonly data?: { readonly [key: string]: string }
  readonly status?: {
    readonly token?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly observedGeneration?: number
    }[]
  }
}

export class Api {
  readonly #agent: Agent
  readonly #watching: Agent

  constructor(
    readonly url: string,
    kubeconfig: string,
  ) {
    const own = credentials(kubeconfig)
    this.#agent = new Agent({ keepAlive: true, maxSockets: 32, ...own })
    this.#watching = new Agent(own)
  }

  create(path: string, body: object): Promise<ApiObject> {
    return this.#ask("POST", path, body, "application/json")
  }

  merge(path: string, body: object): Promise<ApiObject> {
    return this.#ask("PATCH", path, body, "application/merge-patch+json")
  }

  /** Undefined if there is none. */
  async find(path: string): Promise<ApiObject | undefined> {
    const response = await this.#send("GET", path, this.#agent)
    const text = await textOf(response)
    return response.statusCode === 200 ? (JSON.parse(text) as ApiObject) : undefined // trusts the API server
  }

  /** Delivers every object as it appears, from now on. */
  async watch(path: string, listener: (object: ApiObject) => void): Promise<void> {
    const response = await this.#send("GET", `${path}?watch=1`, this.#watching)
    if (response.statusCode !== 200) throw new Error(`watch answered ${response.statusCode}`)
    let rest = ""
    response.setEncoding("utf8")
    response.on("error", () => undefined)
    response.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) listener((JSON.parse(line) as { object: ApiObject }).object)
    })
  }

  close(): void {
    this.#agent.destroy()
    this.#watching.destroy()
  }

  async #ask(method: string, path: string, body: object, type: string): Promise<ApiObject> {
    const response = await this.#send(method, path, this.#agent, JSON.stringify(body), type)
    const text = await textOf(response)
    const status = response.statusCode ?? 0
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`)
    return JSON.parse(text) as ApiObject
  }

  #send(method: string, path: string, agent: Agent, body?: string, type?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = type === undefined ? {} : { "content-type": type }
      const sent = request(`${this.url}${path}`, { method, agent, headers }, resolve)
      sent.once("error", reject)
      sent.end(body)
    })
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ""
  response.setEncoding("utf8")
  for await (const chunk of response) text += String(chunk)
  return text
}

/** Limits concurrency, because this does not measure how the API server handles a flood. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (;;) {
      const item = items[next++]
      if (item === undefined) return
      await act(item)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}
