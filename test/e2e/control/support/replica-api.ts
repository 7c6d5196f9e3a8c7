// SPDX-License-Identifier: Apache-2.0
// Queries one replica as the cluster's API server would on behalf of a user: with the API server's certificate, and the
// user in headers. This way a test chooses the replica, while a cluster would pick any.

import { readFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { watchLines } from "../../../../packages/control/src/kubernetes/watch-lines.js"

export interface Answer {
  readonly status: number
  readonly body: Body
}

export interface Body {
  readonly kind?: string
  readonly message?: string
  readonly partial?: readonly string[]
  readonly proxies?: { readonly asked: number; readonly known: number }
  readonly traffic?: readonly { readonly allowed: number; readonly denied: number }[]
  readonly items?: readonly AnswerItem[]
  readonly metadata?: { readonly name?: string }
  readonly spec?: { readonly [field: string]: unknown }
}

export interface AnswerItem {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: { readonly [field: string]: unknown }
}

export interface AskingUser {
  readonly name: string
  readonly groups: readonly string[]
}

const ADMINISTRATOR: AskingUser = { name: "admin", groups: ["system:masters"] }
const PATIENCE_MS = 90_000

export class ReplicaApi {
  readonly #folder: string
  readonly #port: number

  /** `folder`: the data folder of the cluster. */
  constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
  }

  async get(path: string, user = ADMINISTRATOR): Promise<Answer> {
    const { status, chunks } = await this.#open(path, user)
    const parts: Buffer[] = []
    for await (const chunk of chunks) parts.push(chunk)
    return { status, body: JSON.parse(Buffer.concat(parts).toString("utf8")) }
  }

  /** Passes on the lines of a watch until `stop` is called or the replica ends it. */
  async watch(path: string, line: (event: WatchEvent) => void): Promise<() => void> {
    const { chunks, stop } = await this.#open(path, ADMINISTRATOR)
    const read = async (): Promise<void> => {
      for await (const text of watchLines(chunks)) line(JSON.parse(text))
    }
    // `stop` breaks off the read.
    read().catch(() => undefined)
    return stop
  }

  #open(path: string, { name, groups }: AskingUser): Promise<Opened> {
    const pki = (file: string): string => readFileSync(join(this.#folder, "pki", file), "utf8")
    return new Promise((resolve, reject) => {
      const asked = request({
        host: "127.0.0.1",
        port: this.#port,
        path: `/apis/answers.merlon.dev/v1alpha1${path}`,
        headers: { "X-Remote-User": name, "X-Remote-Group": [...groups] },
        cert: pki("front-proxy-client.crt"),
        key: pki("front-proxy-client.key"),
        // These tests are not about the server's identity.
        rejectUnauthorized: false,
        agent: false,
        timeout: PATIENCE_MS,
      })
      asked.once("response", response =>
        resolve({ status: response.statusCode ?? 0, chunks: response, stop: () => response.destroy() }),
      )
      asked.once("timeout", () => asked.destroy())
      asked.once("error", reject)
      asked.end()
    })
  }
}

interface Opened {
  readonly status: number
  readonly chunks: AsyncIterable<Buffer>
  readonly stop: () => void
}

export interface WatchEvent {
  readonly type: string
  readonly object: {
    readonly metadata: { readonly annotations?: { readonly [key: string]: string } }
    readonly spec?: { readonly workload?: string; readonly path?: string }
  }
}
