// SPDX-License-Identifier: Apache-2.0
// The health port of the control plane: liveness, readiness with what is missing, and metrics. It is open to every
// client, so it reveals nothing about policies. Connected proxies are listed only for clients on this machine.

import { createServer, type IncomingMessage, type Server } from "node:http"
import { limitConnections, SMALL_REQUESTS } from "@merlon/wire/limits"
import { isOwnUser } from "@merlon/xds/runtime"
import type { ProxyReport } from "./proxy-report.js"

export interface HealthSources {
  /** Reasons why it is not ready, one phrase each. */
  missing(): readonly string[]
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /** Sorted by key. */
  proxies(after: string, limit: number): readonly ProxyReport[]
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const DEFAULT_PAGE = 500
const LARGEST_PAGE = 5_000

export function healthServer(sources: HealthSources): Server {
  // Concurrent scrapes share one rendering.
  let scrape: Promise<Answer> | undefined
  const metrics = (): Promise<Answer> => {
    scrape ??= sources
      .metrics()
      .then(({ type, text }) => ({ status: 200, type, body: text }))
      .finally(() => {
        scrape = undefined
      })
    return scrape
  }
  const server = createServer(SMALL_REQUESTS, (asked, reply) => {
    asked.resume()
    answer(asked, sources, metrics)
      .catch(() => text(500, "internal error"))
      .then(({ status, type, body }) => {
        reply.writeHead(status, {
          "content-type": type,
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
        })
        reply.end(asked.method === "HEAD" ? undefined : body)
      })
      .catch(() => reply.destroy())
  })
  limitConnections(server)
  // Disconnects a client that does not read its answer.
  server.setTimeout(30_000, socket => socket.destroy())
  return server
}

// Any error of a request must end in its own reply: an exception outside of it would end the process.
async function answer(asked: IncomingMessage, sources: HealthSources, metrics: () => Promise<Answer>): Promise<Answer> {
  const { method, url = "/" } = asked
  if (method !== "GET" && method !== "HEAD") return text(405, "only GET is allowed")
  const [path = "", query = ""] = url.split("?", 2)
  switch (path) {
    case "/healthz":
      return text(200, "ok")
    case "/readyz": {
      const missing = sources.missing()
      return missing.length === 0 ? text(200, "ok") : text(503, missing.map(what => `not ready: ${what}`).join("\n"))
    }
    case "/metrics":
      return metrics()
    case "/debug/proxies":
      if (!isLocal(asked)) return text(403, "allowed only from this machine")
      if (!(await isOwnUser(asked.socket)))
        return text(403, "allowed only for root and the user that the control plane runs as")
      return proxies(new URLSearchParams(query), sources)
    default:
      return text(404, "try /healthz, /readyz or /metrics")
  }
}

/** Rejects requests from web pages in a browser on this machine: they name another host, or have an origin. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const { remoteAddress = "" } = socket
  const loopback = /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(remoteAddress)
  const named = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(headers.host ?? "")
  const fromPage = headers.origin !== undefined || (headers["sec-fetch-site"] ?? "none") !== "none"
  return loopback && named && !fromPage
}

function proxies(query: URLSearchParams, sources: HealthSources): Answer {
  const wanted = Number(query.get("limit") ?? DEFAULT_PAGE)
  const limit = Number.isInteger(wanted) && wanted > 0 ? Math.min(wanted, LARGEST_PAGE) : DEFAULT_PAGE
  const items = sources.proxies(query.get("after") ?? "", limit + 1)
  const page = items.slice(0, limit)
  const body = { proxies: page, ...(items.length > limit ? { after: page.at(-1)?.key } : {}) }
  return { status: 200, type: "application/json", body: `${JSON.stringify(body, undefined, 2)}\n` }
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body: `${body}\n` }
}
