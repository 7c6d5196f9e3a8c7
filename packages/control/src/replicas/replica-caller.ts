// SPDX-License-Identifier: Apache-2.0
// Queries one other replica over mTLS and trusts it only if it proves to be a control plane of this mesh. Each answer
// has a deadline and a size limit, and all concurrent answers share another limit.

import type { IncomingMessage } from "node:http"
import { Agent, request } from "node:https"
import { TLS_INTERNAL } from "@merlon/wire/tls"
import { watchLines } from "../kubernetes/watch-lines.js"
import type { KnownReplica } from "./known-replicas.js"
import type { ReplicaIdentity } from "./replica-names.js"
import type { ReplicaCredentials } from "./replica-server.js"
import { verifyReplica } from "./verify-replica.js"

export interface ReplicaCallerOptions {
  readonly credentials: () => ReplicaCredentials
  readonly identity: ReplicaIdentity
  readonly answerMs?: number
  readonly maxAnswer?: number
  readonly maxHeld?: number
}

/** Longer than the three seconds that a replica waits for a proxy, and short enough for a user who waits. */
const ANSWER_MS = 5_000
const MAX_ANSWER = 16 << 20
const MAX_HELD = 96 << 20
const MAX_LINE = 2 << 20
/** The other replica sends something at least every five seconds. */
const QUIET_MS = 20_000

export class ReplicaCaller {
  readonly #options: ReplicaCallerOptions
  #agent: Agent
  #held = 0

  constructor(options: ReplicaCallerOptions) {
    this.#options = options
    this.#agent = this.#newAgent()
  }

  /** Ends existing connections; new connections use the new certificate. */
  credentialsChanged(): void {
    this.#agent.destroy()
    this.#agent = this.#newAgent()
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Returns undefined if the replica does not know the object. Throws if it does not answer in time. */
  async ask(replica: KnownReplica, path: string, query: URLSearchParams, signal?: AbortSignal): Promise<unknown> {
    const enough = AbortSignal.timeout(this.#options.answerMs ?? ANSWER_MS)
    const response = await this.#get(replica, path, query, signal ? AbortSignal.any([signal, enough]) : enough)
    const text = await this.#read(response)
    if (response.statusCode === 404) return undefined
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}: ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }

  /** Yields the lines that it sends, until it ends or the signal aborts. */
  async *lines(
    replica: KnownReplica,
    path: string,
    query: URLSearchParams,
    signal: AbortSignal,
    opened: () => void,
  ): AsyncGenerator<unknown> {
    const response = await this.#get(replica, path, query, signal, QUIET_MS)
    if (response.statusCode !== 200) {
      response.destroy()
      throw new Error(`it answered ${response.statusCode}`)
    }
    opened()
    // No encoding is set, so chunks are bytes.
    for await (const line of watchLines(response as AsyncIterable<Buffer>, MAX_LINE)) yield JSON.parse(line)
  }

  #get(
    { host, port }: KnownReplica,
    path: string,
    query: URLSearchParams,
    signal: AbortSignal,
    quietMs = this.#options.answerMs ?? ANSWER_MS,
  ): Promise<IncomingMessage> {
    const search = query.toString()
    return new Promise((resolve, reject) => {
      const asked = request({
        agent: this.#agent,
        host,
        port,
        path: search === "" ? path : `${path}?${search}`,
        signal,
      })
      asked.setTimeout(quietMs, () => asked.destroy(new Error(`it sent nothing for ${quietMs / 1_000} s`)))
      asked.once("response", resolve)
      asked.once("error", reject)
      // Covers what Node reports by no other event after a response, such as a protocol upgrade.
      asked.once("close", () => reject(new Error("it closed the connection without a response")))
      asked.end()
    })
  }

  async #read(response: IncomingMessage): Promise<string> {
    const { maxAnswer = MAX_ANSWER, maxHeld = MAX_HELD } = this.#options
    const chunks: Buffer[] = []
    let size = 0
    try {
      // No encoding is set, so chunks are bytes.
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length
        this.#held += chunk.length
        if (size > maxAnswer || this.#held > maxHeld) throw new Error("its response is larger than the limit")
        chunks.push(chunk)
      }
    } finally {
      this.#held -= size
    }
    return Buffer.concat(chunks).toString("utf8")
  }

  #newAgent(): Agent {
    const { credentials, identity } = this.#options
    const { certificate, key, trust } = credentials()
    return new Agent({
      cert: certificate,
      key,
      ca: trust.bundle,
      ...TLS_INTERNAL,
      keepAlive: true,
      // No session resumption: each connection authenticates the peer again.
      maxCachedSessions: 0,
      maxFreeSockets: 8,
      timeout: QUIET_MS,
      // Checks the identity: replicas are found by address, which is not in their certificates.
      checkServerIdentity: (_, { raw }) => {
        const rejection = verifyReplica(raw, identity, credentials().trust, Date.now())
        return rejection === undefined ? undefined : new Error(rejection)
      },
    })
  }
}
