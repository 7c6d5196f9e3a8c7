// SPDX-License-Identifier: Apache-2.0
// Writers of the HTTP crash test: each creates, replaces and deletes its own ConfigMaps through any running server, and
// records requests and responses in the ledger. Also the watcher and the list that are compared with it.

import { eventually } from "../../../packages/wire/src/testing/eventually.js"
import type { ClusterProcess, KubernetesObject, WatchLine } from "./cluster-process.js"
import type { Ledger } from "./ledger.js"

export const NAMESPACE = "crash"
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const NAMES_PER_WRITER = 4

export class ConfigMapWriter {
  #n = 0

  constructor(
    readonly ledger: Ledger,
    readonly writer: number,
  ) {}

  /** Runs until `going` returns false. A request without a response stays open in the ledger. */
  async run(servers: () => readonly ClusterProcess[], going: () => boolean): Promise<void> {
    while (going()) {
      const up = servers()
      const server = up[(this.writer + this.#n) % up.length]
      if (server === undefined) return
      const n = this.#n++
      const name = `w-${this.writer}-${n % NAMES_PER_WRITER}`
      if (n % 5 === 4) await this.#attempt(server, name, "DELETE")
      else if (!(await this.#attempt(server, name, "PUT"))) await this.#attempt(server, name, "POST")
    }
  }

  /** A change that every watcher must see: a watcher that has seen it has seen everything before it. */
  async mark(server: ClusterProcess): Promise<number> {
    const name = `w-marker-${this.writer}`
    let revision = 0
    await eventually(
      async () => {
        revision = (await this.#attempt(server, name, "PUT")) || (await this.#attempt(server, name, "POST"))
        return revision > 0
      },
      { what: `the marker of writer ${this.writer} is written` },
    )
    return revision
  }

  /** The revision of the change; 0 if there was none or it is unknown. */
  async #attempt(server: ClusterProcess, name: string, method: "PUT" | "POST" | "DELETE"): Promise<number> {
    const id = `${this.writer}.${this.#n}.${method}.${crypto.randomUUID()}`
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE }, data: { id } }
    const path = method === "POST" ? PATH : `${PATH}/${name}`
    this.ledger.ask(id, name, method === "DELETE")
    try {
      const answer = await server.ask(method, path, method === "DELETE" ? undefined : body)
      if (answer.status >= 400 && answer.status < 500) this.ledger.reject(id)
      if (answer.status >= 300) return 0
      if (method === "DELETE") {
        this.ledger.acknowledgeUnnumbered(id)
        return 0
      }
      const revision = Number(answer.body.metadata?.resourceVersion)
      this.ledger.acknowledge(id, revision)
      return revision
    } catch {
      // The connection broke before a response.
      await new Promise(resolve => setTimeout(resolve, 5))
      return 0
    }
  }
}

export async function follow(server: ClusterProcess, ledger: Ledger): Promise<{ close(): void; ended: Promise<void> }> {
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${ledger.lastSeen}`
  return await server.watch(`${PATH}?${query}`, ({ type, object }: WatchLine) => {
    if (type === "ERROR") throw new Error(`the watch from ${ledger.lastSeen} was rejected: ${object.message}`)
    const name = object.metadata?.name ?? ""
    if (type === "BOOKMARK" || !name.startsWith("w-")) return
    const seen = { revision: Number(object.metadata?.resourceVersion), key: name }
    ledger.see(type === "DELETED" ? seen : { ...seen, id: object.data?.id ?? "" })
  })
}

export async function check(server: ClusterProcess, ledger: Ledger): Promise<void> {
  const { status, body } = await server.ask("GET", PATH)
  if (status !== 200) throw new Error(`the list answered ${status}: ${body.message}`)
  const state = new Map<string, string>()
  for (const { metadata, data } of body.items ?? ([] as KubernetesObject[]))
    if (metadata?.name?.startsWith("w-") === true) state.set(metadata.name, data?.id ?? "")
  ledger.check(state, Number(body.metadata?.resourceVersion))
}
