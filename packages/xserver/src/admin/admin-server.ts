// SPDX-License-Identifier: Apache-2.0
// The admin server, on loopback and only for the user that xserver runs as: the enforced policies, decisions and their
// reasons, and the log level. Pages of other origins must not reach it, so a request has to name a loopback address as
// its host.

import { createServer, type IncomingMessage, type Server } from "node:http"
import { limitConnections, SMALL_REQUESTS } from "@merlon/wire/limits"
import { isOwnUser } from "@merlon/xds/runtime"
import type { DecisionSummary } from "../observe/decisions.js"

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface AdminSources {
  configDump(): unknown
  readonly decisions: {
    list(): Promise<readonly DecisionSummary[]>
    find(id: string): Promise<DecisionSummary | undefined>
  }
  logLevel(): string
  setLogLevel(level: LogLevel): void
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

export function adminServer(sources: AdminSources): Server {
  const server = createServer(SMALL_REQUESTS, (asked, reply) => {
    asked.resume()
    answer(asked, sources)
      .catch(() => ({ status: 500, body: { error: "internal error" } }))
      .then(({ status, body }) => {
        reply.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
        reply.end(`${JSON.stringify(body, undefined, 2)}\n`)
      })
      .catch(() => reply.destroy())
  })
  limitConnections(server)
  return server
}

const BASE = "http://admin"
const FOREIGN: Answer = { status: 403, body: { error: "the Host header must name a loopback address" } }
const OTHER_USER: Answer = { status: 403, body: { error: "allowed only for root and the user that xserver runs as" } }
const FROM_A_PAGE: Answer = { status: 403, body: { error: "requests from browser pages are not allowed" } }

// DNS rebinding: a page whose host name resolves to 127.0.0.1 sends that name in the Host header.
function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host)
}

// A page may send a form to any address, and can change something without reading the response. Browsers then send the
// page's origin.
function isOfPage({ origin, "sec-fetch-site": site = "none" }: IncomingMessage["headers"]): boolean {
  return origin !== undefined || site !== "none"
}

// Every error in a request must end in a response: an exception outside of it would end the process.
async function answer(asked: IncomingMessage, sources: AdminSources): Promise<Answer> {
  const { headers, method = "", url = "/" } = asked
  if (!isLoopback(headers.host ?? "")) return FOREIGN
  if (isOfPage(headers)) return FROM_A_PAGE
  if (!(await isOwnUser(asked.socket))) return OTHER_USER
  if (!URL.canParse(url, BASE)) return { status: 400, body: { error: "the request target is not a path" } }
  return answerTo(method, new URL(url, BASE), sources)
}

async function answerTo(method: string, url: URL, sources: AdminSources): Promise<Answer> {
  const [, first = "", second] = url.pathname.split("/")
  if (first === "loglevel" && (method === "POST" || method === "PUT")) return setLogLevel(url, sources)
  if (method !== "GET") return { status: 405, body: { error: "only GET is allowed, and POST for /loglevel" } }
  switch (first) {
    case "config_dump":
      return { status: 200, body: sources.configDump() }
    case "decisions": {
      if (second === undefined) return { status: 200, body: await sources.decisions.list() }
      const found = await sources.decisions.find(second)
      const error = `no decision \`${second}\` found; only the last thousand are kept, in memory`
      return found === undefined ? { status: 404, body: { error } } : { status: 200, body: found }
    }
    case "loglevel":
      return { status: 200, body: { level: sources.logLevel() } }
    default:
      return { status: 404, body: { error: "try /config_dump, /decisions, /decisions/ID or /loglevel" } }
  }
}

function setLogLevel(url: URL, sources: AdminSources): Answer {
  const level = LOG_LEVELS.find(candidate => candidate === url.searchParams.get("level"))
  if (level === undefined) return { status: 400, body: { error: `?level= must be one of ${LOG_LEVELS.join(", ")}` } }
  sources.setLogLevel(level)
  return { status: 200, body: { level } }
}
