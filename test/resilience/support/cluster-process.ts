// SPDX-License-Identifier: Apache-2.0
// Starts, calls and kills an API server process, as an HTTP client: requests with the administrator's certificate, and
// a watch that ends with the server.

import { type ChildProcessByStdio, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { Agent, request } from "node:https"
import { createInterface, type Interface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { parse } from "yaml"
import type { Order } from "./cluster-server.js"

export const clusterServer = new URL("./cluster-server.ts", import.meta.url)

export interface Answer {
  status: number
  body: KubernetesObject
}

export interface KubernetesObject {
  kind?: string
  message?: string
  metadata?: { name?: string; resourceVersion?: string }
  data?: Record<string, string>
  items?: KubernetesObject[]
}

export interface WatchLine {
  type: string
  object: KubernetesObject
}

export class ClusterProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: Interface
  readonly #gone: Promise<void>
  #agent: Agent | undefined
  url = ""

  /** `program`: the bundled server. */
  constructor(program: string) {
    this.#child = spawn(process.execPath, ["--expose-gc", program], {
      stdio: ["pipe", "pipe", "inherit"],
    })
    this.#child.stdin.on("error", () => undefined)
    this.#lines = createInterface({ input: this.#child.stdout })
    this.#gone = new Promise(resolve => this.#child.once("close", () => resolve()))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async serve(order: Order): Promise<void> {
    const result = await this.#say(JSON.stringify(order))
    const { url, kubeconfig } = JSON.parse(result) as { url: string; kubeconfig: string }
    this.url = url
    this.#agent = new Agent({ keepAlive: true, ...credentials(kubeconfig) })
  }

  /** For comparisons of memory: several collections with pauses, because pages return to the system later. */
  async collectGarbage(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await this.#say("collect")
      await new Promise(resolve => setTimeout(resolve, 250))
    }
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.#send(method, path, body)
    let text = ""
    for await (const chunk of response) text += String(chunk)
    if (!response.complete) throw new Error("the answer broke off")
    return { status: response.statusCode ?? 0, body: JSON.parse(text) as KubernetesObject }
  }

  /** Passes each complete line to the listener, until the server or the caller ends the watch. */
  async watch(path: string, listener: (line: WatchLine) => void): Promise<{ close(): void; ended: Promise<void> }> {
    const response = await this.#send("GET", path)
    if (response.statusCode !== 200) throw new Error(`watch answered ${response.statusCode}`)
    let rest = ""
    response.setEncoding("utf8")
    response.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) listener(JSON.parse(line) as WatchLine)
    })
    response.on("error", () => undefined)
    return { close: () => response.destroy(), ended: new Promise(resolve => response.once("close", () => resolve())) }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
    this.#agent?.destroy()
  }

  #say(line: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#lines.once("line", resolve)
      this.#child.once("close", () => reject(new Error("the server ended before it answered")))
      this.#child.stdin.write(`${line}\n`)
    })
  }

  #send(method: string, path: string, body?: unknown): Promise<IncomingMessage> {
    const agent = this.#agent
    if (agent === undefined) throw new Error("the server does not serve yet")
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/json" }
      const sent = request(`${this.url}${path}`, { method, agent, headers }, resolve)
      sent.once("error", reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

interface Kubeconfig {
  clusters: { cluster: { "certificate-authority-data": string } }[]
  users: { user: { "client-certificate-data": string; "client-key-data": string } }[]
}

export function credentials(kubeconfig: string): { ca: Buffer; cert: Buffer; key: Buffer } {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig
  const decode = (text: string | undefined): Buffer => Buffer.from(text ?? "", "base64")
  return {
    ca: decode(clusters[0]?.cluster["certificate-authority-data"]),
    cert: decode(users[0]?.user["client-certificate-data"]),
    key: decode(users[0]?.user["client-key-data"]),
  }
}
