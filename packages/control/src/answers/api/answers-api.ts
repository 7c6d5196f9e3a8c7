// SPDX-License-Identifier: Apache-2.0
// The answers API, behind the cluster's API aggregation. The front API server authenticates the user, the cluster
// authorizes the query, and each user has a share of slots, bytes and streams. Every request gets an answer.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { MeshNames } from "@merlon/policy/mesh"
import { ApiError, type KubernetesClient } from "../../kubernetes/client.js"
import { objectOf } from "../../registry/foreign.js"
import { permit } from "./access.js"
import { AnswersApiError, badRequest, notFound, statusOf, tooMany } from "./answers-api-error.js"
import { followInReply } from "./followed-reply.js"
import type { HistoryAnswers } from "./history-answers.js"
import type { ObservedAnswers } from "./observed-answers.js"
import { openApiDocuments } from "./openapi.js"
import type { ProvedAnswers } from "./proved-answers.js"
import { type Question, readQuestion } from "./question.js"
import { type FrontProxy, type RemoteUser, remoteUser } from "./remote-user.js"
import { over, whenOver } from "./reply-over.js"
import { RequestSlots } from "./request-slots.js"
import { ANSWERS_VERSION, answersGroup, apiGroup, HISTORY_RESOURCES, resourceList } from "./resources.js"
import { shareOwner } from "./share-owner.js"
import { type TableRequest, tableOf, tableRequest } from "./table.js"

export interface AnswersApiOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  /** Undefined while the trusted front proxies are unknown. */
  readonly frontProxy: () => FrontProxy | undefined
  readonly seen: ObservedAnswers
  readonly proved: ProvedAnswers
  readonly history: HistoryAnswers
  readonly log: (message: string, error: unknown) => void
}

interface Held {
  /** Ends the request when its slot is given to another user. */
  end: () => void
}

const MAX_BODY = 1 << 20

export class AnswersApi {
  readonly #options: AnswersApiOptions
  readonly #group: string
  readonly #base: string
  #documents: ReadonlyMap<string, object> | undefined
  readonly #questions = new RequestSlots(64, 8)
  readonly #watches = new RequestSlots(128, 8)
  readonly #open = new Set<() => void>()

  constructor(options: AnswersApiOptions) {
    this.#options = options
    this.#group = answersGroup(options.names)
    this.#base = `/apis/${this.#group}/${ANSWERS_VERSION}`
  }

  /** Whether the path is one of this API. */
  serves(path: string): boolean {
    return path === "/apis" || path.startsWith("/apis/") || path.startsWith("/openapi/")
  }

  async answer(asked: IncomingMessage, reply: ServerResponse): Promise<void> {
    try {
      await this.#answer(asked, reply)
    } catch (error) {
      asked.resume()
      if (reply.headersSent) reply.destroy()
      else send(reply, this.#errorOf(error))
    }
  }

  /** Ends all watches. */
  close(): void {
    for (const end of [...this.#open]) end()
  }

  async #answer(asked: IncomingMessage, reply: ServerResponse): Promise<void> {
    const [path = "", search = ""] = (asked.url ?? "/").split("?", 2)
    const { method = "GET" } = asked
    const discovered = method === "GET" ? this.#discovery(path.replace(/\/$/, "")) : undefined
    // Discovery is open to every caller: it lists the resources and reveals nothing about the mesh. An API server
    // without a client certificate could not read it otherwise, and could then never delete a namespace.
    if (discovered !== undefined) {
      asked.resume()
      return send(reply, { code: 200, body: discovered })
    }
    const front = this.#options.frontProxy()
    const user = front && remoteUser(asked, front)
    // Fail closed: a caller that bypasses the API server is not authenticated.
    if (user === undefined)
      throw new AnswersApiError(401, "Unauthorized", "send this request through the API server of the cluster")
    const question = path.startsWith(`${this.#base}/`)
      ? readQuestion(method, path.slice(this.#base.length), new URLSearchParams(search))
      : undefined
    if (question === undefined) throw notFound("the server could not find the requested resource")
    const { resource, verb, namespace, name } = question
    if ((method !== "GET" && method !== "POST") || !resource.verbs.includes(verb)) {
      throw new AnswersApiError(
        405,
        "MethodNotAllowed",
        `\`${resource.name}\` supports only ${resource.verbs.join(", ")}`,
      )
    }
    const access = { verb, group: this.#group, version: ANSWERS_VERSION, resource: resource.name, namespace, name }
    const slots = verb === "watch" ? this.#watches : this.#questions
    const held: Held = { end: () => this.#endForAnotherUser(reply) }
    const leave = slots.enter(shareOwner(user.name), () => held.end())
    if (leave === undefined) throw tooMany("too many concurrent queries; wait for responses before you send more")
    try {
      await permit(this.#options.client, user, access)
      const wanted = tableRequest(asked.headers.accept, question.query)
      if (verb === "watch") await this.#watch(question, reply, wanted, held)
      else {
        const body = await this.#plain(question, asked, user, wanted)
        if (!reply.headersSent) send(reply, { code: verb === "create" ? 201 : 200, body })
      }
    } catch (error) {
      leave()
      throw error
    }
    // The answer stays in memory until the client has read it, so it keeps its slot until then.
    await over(reply)
    leave()
  }

  #discovery(path: string): object | undefined {
    const { names } = this.#options
    if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: [apiGroup(names)] }
    if (path === `/apis/${this.#group}`) return apiGroup(names)
    if (path === this.#base) return resourceList(names)
    if (!path.startsWith("/openapi/")) return undefined
    // Built on the first request: most control planes stop before one arrives, and none needs it to start.
    this.#documents ??= openApiDocuments(names)
    return this.#documents.get(path)
  }

  async #plain(
    question: Question,
    asked: IncomingMessage,
    user: RemoteUser,
    wanted: TableRequest | undefined,
  ): Promise<object> {
    const { resource, verb } = question
    const type = { apiVersion: `${this.#group}/${ANSWERS_VERSION}`, kind: resource.kind }
    if (verb === "create") {
      const { spec } = objectOf(await readJson(asked))
      if (objectOf(spec).since !== undefined) await this.#permitHistory(question, user)
      const status = await this.#options.proved.answer(question, spec, shareOwner(user.name))
      return { ...type, metadata: {}, status }
    }
    asked.resume()
    if (verb === "get") {
      const object = { ...type, ...(await this.#answers(question).get(question)) }
      return wanted === undefined ? object : tableOf(resource, [object], wanted, { metadata: {}, now: Date.now() })
    }
    const { items, remaining, notes } = await this.#answers(question).list(question)
    const metadata = { resourceVersion: "0", ...(remaining > 0 ? { remainingItemCount: remaining } : {}) }
    const objects = items.map(item => ({ ...type, ...item }))
    if (wanted !== undefined) return tableOf(resource, objects, wanted, { metadata, now: Date.now() })
    return { ...type, kind: `${resource.kind}List`, metadata, ...notes, items: objects }
  }

  #answers({ resource }: Question): ObservedAnswers | HistoryAnswers {
    const { seen, history } = this.#options
    return HISTORY_RESOURCES.includes(resource) ? history : seen
  }

  /** Shows what was changed only to users who may read the changes. */
  #permitHistory({ namespace }: Question, user: RemoteUser): Promise<void> {
    const changes = { verb: "list", group: this.#group, version: ANSWERS_VERSION, resource: "changes" }
    return permit(this.#options.client, user, { ...changes, namespace, name: undefined })
  }

  async #watch(question: Question, reply: ServerResponse, wanted: TableRequest | undefined, held: Held): Promise<void> {
    // The client may have left, or lost its slot, while its permission was checked.
    if (reply.destroyed || reply.headersSent) return
    const end = followInReply(question, reply, { group: this.#group, seen: this.#options.seen, wanted })
    held.end = end
    this.#open.add(end)
    await new Promise<void>(resolve => whenOver(reply, resolve))
    this.#open.delete(end)
  }

  /** Ends a request whose slot was given to another user. */
  #endForAnotherUser(reply: ServerResponse): void {
    if (reply.headersSent) reply.destroy()
    else send(reply, this.#errorOf(tooMany("too many concurrent queries; retry in a few seconds")))
  }

  #errorOf(caught: unknown): { readonly code: number; readonly body: object } {
    const error = this.#readable(caught)
    return { code: error.code, body: statusOf(error) }
  }

  #readable(error: unknown): AnswersApiError {
    if (error instanceof AnswersApiError) return error
    this.#options.log("a query failed", error)
    // The Kubernetes API is unavailable or denied our request. That is not the caller's error.
    if (error instanceof ApiError)
      return new AnswersApiError(503, "ServiceUnavailable", "the cluster could not check your permissions; retry")
    return new AnswersApiError(500, "InternalError", "the control plane failed on this query; read its log")
  }
}

function send(reply: ServerResponse, { code, body }: { readonly code: number; readonly body: object }): void {
  const text = `${JSON.stringify(body)}\n`
  reply.writeHead(code, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-cache, private",
  })
  reply.end(text)
}

async function readJson(asked: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  // No encoding is set, so chunks are bytes.
  for await (const chunk of asked as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY)
      throw new AnswersApiError(413, "RequestEntityTooLarge", `a query may have at most ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"))
  } catch {
    throw badRequest('the body is not JSON; send `{"spec": {…}}`')
  }
}
