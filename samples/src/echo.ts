// SPDX-License-Identifier: Apache-2.0
// Echoes requests in the formats of httpbin, so that users see what a proxy changed. Bodies, delays and sizes are
// limited, because the sample may be reachable from other machines.

import { randomBytes } from "node:crypto"
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"

const MAX_BODY = 1 << 20
const MAX_BYTES = 16 << 20
const MAX_DELAY_SECONDS = 10
const METHODS_WITH_BODY = ["POST", "PUT", "PATCH", "DELETE"]

type Values = Readonly<Record<string, string | readonly string[]>>

export const echo: RequestListener = (request, response) => {
  answer(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy()
    else send(response, 500, { error: error instanceof Error ? error.message : String(error) })
  })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET" } = request
  const url = urlOf(request)
  if (url === undefined) return send(response, 400, { error: "the request names no readable target" })
  const [, first = "", second = ""] = url.pathname.split("/")
  const number = /^\d{1,9}$/.test(second) ? Number(second) : undefined
  switch (first) {
    case "":
      return send(response, 200, { routes: ROUTES })
    case "get":
      return method === "GET" || method === "HEAD"
        ? send(response, 200, seen(request, url))
        : notAllowed(response, "GET")
    case "headers":
      return send(response, 200, { headers: headersOf(request) })
    case "ip":
      return send(response, 200, { origin: originOf(request) })
    case "post":
    case "put":
    case "patch":
    case "delete":
      return method === first.toUpperCase()
        ? sendBody(request, response, url)
        : notAllowed(response, first.toUpperCase())
    case "anything":
      return sendBody(request, response, url)
    case "status":
      return sendStatus(response, number)
    case "delay":
      await pause(Math.min(number ?? 0, MAX_DELAY_SECONDS) * 1000, request)
      return sendBody(request, response, url)
    case "bytes":
      return sendBytes(response, number)
    default:
      return send(response, 404, { error: `there is no \`${url.pathname}\``, routes: ROUTES })
  }
}

const ROUTES = [
  "/get",
  "/post",
  "/put",
  "/patch",
  "/delete",
  "/headers",
  "/ip",
  "/anything",
  "/status/N",
  "/delay/SECONDS",
  "/bytes/N",
]

function urlOf(request: IncomingMessage): URL | undefined {
  try {
    const scheme = headerOf(request, "x-forwarded-proto") === "https" ? "https" : "http"
    return new URL(`${scheme}://${request.headers.host ?? "localhost"}${request.url ?? "/"}`)
  } catch {
    return undefined
  }
}

function seen(request: IncomingMessage, url: URL) {
  return { args: valuesOf(url.searchParams), headers: headersOf(request), origin: originOf(request), url: url.href }
}

async function sendBody(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const body = await readBody(request)
  if (body === undefined) return send(response, 413, { error: `a body has at most ${MAX_BODY} bytes here` })
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""
  const data = body.toString("utf8")
  const isForm = type === "application/x-www-form-urlencoded"
  send(response, 200, {
    ...seen(request, url),
    method: request.method,
    data: isForm ? "" : data,
    form: isForm ? valuesOf(new URLSearchParams(data)) : {},
    json: jsonOf(data),
  })
}

/** Returns undefined if the body is too long; the rest is not read. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (!METHODS_WITH_BODY.includes(request.method ?? "")) return Buffer.alloc(0)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    // No encoding is set, so the chunks are Buffers.
    size += chunk.length
    if (size > MAX_BODY) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function sendStatus(response: ServerResponse, status: number | undefined): void {
  if (status === undefined || status < 200 || status > 599) {
    send(response, 400, { error: "a status is a number from 200 to 599" })
    return
  }
  response.writeHead(status, status === 204 || status === 304 ? {} : { "content-length": 0 }).end()
}

function sendBytes(response: ServerResponse, size: number | undefined): void {
  if (size === undefined || size > MAX_BYTES) {
    send(response, 400, { error: `a number of bytes is at most ${MAX_BYTES}` })
    return
  }
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": size })
  response.end(randomBytes(size))
}

function notAllowed(response: ServerResponse, allow: string): void {
  response.setHeader("allow", allow)
  send(response, 405, { error: `only ${allow} is answered here` })
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const text = `${JSON.stringify(value, undefined, 2)}\n`
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
  response.end(text)
}

function headersOf({ headersDistinct }: IncomingMessage): Readonly<Record<string, string>> {
  const entries = Object.entries(headersDistinct).map(([name, lines = []]) => [headerName(name), lines.join(",")])
  return Object.fromEntries(entries.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)))
}

/** Formats a name as httpbin does: `x-request-id` becomes `X-Request-Id`. */
function headerName(name: string): string {
  return name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => `${dash}${letter.toUpperCase()}`)
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function originOf(request: IncomingMessage): string {
  return headerOf(request, "x-forwarded-for") ?? request.socket.remoteAddress ?? ""
}

function valuesOf(parameters: URLSearchParams): Values {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map(name => {
      const all = parameters.getAll(name)
      return [name, all.length === 1 ? (all[0] ?? "") : all]
    }),
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Ends early if the client disconnects. */
function pause(milliseconds: number, request: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    request.once("close", () => {
      if (!request.socket.destroyed) return
      clearTimeout(timer)
      resolve()
    })
  })
}
