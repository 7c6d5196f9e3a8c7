// SPDX-License-Identifier: Apache-2.0
// Sends recorded requests over TLS: as administrator, as another user by impersonation, with a token or without
// credentials.

import type { IncomingMessage } from "node:http"
import { Agent, request as send } from "node:https"
import { IN_THIS_CLUSTER } from "../../kinds/advice.js"
import { isObject, type Json } from "../../value.js"
import { parseJson, stringify } from "../../wire/json.js"
import type { OracleRequest } from "./case.js"

export interface Answer {
  readonly status: number
  readonly headers: Record<string, Json>
  readonly body: Json | undefined
  readonly text: string | undefined
}

/** A response that is still arriving. */
export interface Coming {
  /** The text received so far. */
  text(): string
  readonly isOver: boolean
  /** Ends the response with the text received so far. */
  end(): void
}

export interface Credentials {
  readonly url: string
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const COMPARED = ["content-type", "warning", "retry-after", "location", "allow", "www-authenticate"]

export class OracleClient {
  readonly #admin: Agent
  readonly #plain: Agent

  constructor(readonly credentials: Credentials) {
    const { ca, cert, key } = credentials
    this.#admin = new Agent({ ca, cert, key, keepAlive: true })
    this.#plain = new Agent({ ca, keepAlive: true })
  }

  close(): void {
    this.#admin.destroy()
    this.#plain.destroy()
  }

  async send(request: OracleRequest, onOpen?: (coming: Coming) => void): Promise<Answer> {
    const response = await this.#open(request)
    const chunks: Buffer[] = []
    let isOver = false
    const text = (): string => Buffer.concat(chunks).toString()
    onOpen?.({
      text,
      get isOver() {
        return isOver
      },
      end: () => {
        isOver = true
        response.destroy()
      },
    })
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer)
    } catch (error) {
      if (!isOver) throw error
    }
    isOver = true
    return answerOf(response, text(), request.stream === true)
  }

  #open(request: OracleRequest): Promise<IncomingMessage> {
    const { user } = request
    const bearer = typeof user === "object" && "bearer" in user ? user.bearer : undefined
    const headers: Record<string, string | string[]> = { "User-Agent": "oracle/1.0", Accept: "application/json" }
    if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`
    const body = bodyOf(request)
    if (body !== undefined) {
      headers["Content-Type"] = "application/json"
      headers["Content-Length"] = `${body.length}`
    }
    for (const [key, value] of Object.entries(request.headers ?? {})) {
      if (value === null) delete headers[key]
      else headers[key] = value
    }
    if (typeof user === "object" && "name" in user) {
      headers["Impersonate-User"] = user.name
      if (user.groups !== undefined) headers["Impersonate-Group"] = user.groups
      if (user.uid !== undefined) headers["Impersonate-Uid"] = user.uid
      for (const [key, values] of Object.entries(user.extra ?? {}))
        headers[`Impersonate-Extra-${encodeURIComponent(key)}`] = values
    }
    const query = Object.entries(request.query ?? {}).flatMap(([key, value]) =>
      (Array.isArray(value) ? value : [value]).map(item => `${encodeURIComponent(key)}=${encodeURIComponent(item)}`),
    )
    const path = encodeURI(request.path) + (query.length === 0 ? "" : `?${query.join("&")}`)
    const agent = user === "none" || bearer !== undefined ? this.#plain : this.#admin
    return new Promise((resolve, reject) => {
      const outgoing = send(
        new URL(this.credentials.url).origin,
        { path, method: request.method, headers, agent },
        resolve,
      )
      outgoing.on("error", reject)
      outgoing.end(body)
    })
  }
}

function bodyOf(request: OracleRequest): Buffer | undefined {
  if (request.body !== undefined) return Buffer.from(spaced(request.body))
  if (request.rawBody !== undefined) return Buffer.from(request.rawBody)
  if (request.bodyBase64 !== undefined) return Buffer.from(request.bodyBase64, "base64")
  const repeat = request.bodyRepeat
  return repeat === undefined
    ? undefined
    : Buffer.from(repeat.prefix + repeat.unit.repeat(repeat.count) + repeat.suffix)
}

/** Adds spaces after commas and colons, as the recording client did; some errors quote the body. */
function spaced(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`
  if (!isObject(value)) return stringify(value)
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`)
  return `{${members.join(", ")}}`
}

function answerOf(response: IncomingMessage, text: string, stream: boolean): Answer {
  const headers: Record<string, Json> = {}
  for (const name of COMPARED) {
    const values = response.headersDistinct[name]
    if (values === undefined) continue
    // kube-apiserver never sends this advice, because a real cluster has nodes and controllers.
    const own = values.filter(value => !value.includes(IN_THIS_CLUSTER))
    if (own.length > 0) headers[name] = name === "warning" ? own : own.join(", ")
  }
  const status = response.statusCode ?? 0
  if (stream && status === 200)
    return {
      status,
      headers,
      body: text
        .split("\n")
        .filter(line => line.trim() !== "")
        .map(line => parseJson(line).value),
      text: undefined,
    }
  const type = response.headers["content-type"] ?? ""
  if (type.includes("json") || text.startsWith("{"))
    try {
      return { status, headers, body: parseJson(text).value, text: undefined }
    } catch {
      // Not JSON: compared as text.
    }
  return { status, headers, body: undefined, text: /protobuf|octet-stream/.test(type) ? undefined : text }
}

export function isPlainBookmark(event: Json | undefined): boolean {
  if (!isObject(event) || event.type !== "BOOKMARK") return false
  const meta = isObject(event.object) ? event.object.metadata : undefined
  return !(isObject(meta) && isObject(meta.annotations))
}
