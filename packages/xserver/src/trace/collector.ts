// SPDX-License-Identifier: Apache-2.0
// The connection to the collector: OTLP over HTTP in JSON. Its certificate is verified with the machine's roots and
// those of NODE_EXTRA_CA_CERTS; it is not a member of the mesh.

import { Agent as HttpAgent, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { TLS_FLOOR } from "@merlon/wire/tls"

const TIMEOUT_MS = 10_000
/** Bytes of a response; anything beyond is not read. */
const MOST_ANSWERED = 64 * 1024
/** OTLP section "Failures": these statuses are retried; any other rejection is final. */
const AGAIN: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

/** Rejects if there is no response. */
export type Post = (body: object) => Promise<"taken" | "rejected" | "again">

export interface Collector {
  readonly post: Post
  close(): void
}

export function collectorAt(url: string): Collector {
  const isSecure = new URL(url).protocol === "https:"
  const agent = isSecure ? new HttpsAgent({ keepAlive: true, ...TLS_FLOOR }) : new HttpAgent({ keepAlive: true })
  const request = isSecure ? httpsRequest : httpRequest
  const post: Post = body =>
    new Promise((resolve, reject) => {
      const text = Buffer.from(JSON.stringify(body))
      const headers = { "content-type": "application/json", "content-length": text.length }
      const sent = request(
        url,
        { method: "POST", agent, headers, signal: AbortSignal.timeout(TIMEOUT_MS) },
        response => {
          const finish = (): void => resolve(outcomeOf(response.statusCode ?? 0))
          let answered = 0
          // The content is read and discarded, so that the connection can be reused.
          response.on("error", reject)
          response.on("data", (chunk: Buffer) => {
            answered += chunk.length
            if (answered <= MOST_ANSWERED) return
            finish()
            response.destroy()
          })
          response.once("end", finish)
        },
      )
      sent.once("error", reject)
      // Always the last event, and the only one after a response that Node does not report, such as a protocol upgrade.
      sent.once("close", () => reject(new Error("no answer")))
      sent.end(text)
    })
  return { post, close: () => agent.destroy() }
}

function outcomeOf(status: number): "taken" | "rejected" | "again" {
  if (status >= 200 && status < 300) return "taken"
  return AGAIN.has(status) ? "again" : "rejected"
}

/** The URL for traces below the configured base. Throws if it is not a valid URL. */
export function tracesUrl(base: string): string {
  const url = new URL(base)
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Error("must begin with http:// or https://")
  if (url.username !== "" || url.password !== "") throw new Error("must not contain a password")
  if (/\/v1\/traces\/?$/.test(url.pathname)) return url.href
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`
  return url.href
}
