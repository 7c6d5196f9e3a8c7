// SPDX-License-Identifier: Apache-2.0
// What the platform asks: is it ready, is it alive, what has it counted; and the kubelet's probes of the application.
// Open to everybody, so it tells nothing about policies.

import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import { connect } from "node:net"
import type { Probe } from "../config/probe.js"

export interface HealthSources {
  /** Undefined when ready, otherwise why not. */
  notReady(): string | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  probe(path: string): Probe | undefined
}

export function healthServer(sources: HealthSources): Server {
  return createServer({ requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8_192 }, (asked, reply) => {
    answer(asked, reply, sources).catch(() => end(reply, 500, "internal error"))
  })
}

async function answer(asked: IncomingMessage, reply: ServerResponse, sources: HealthSources): Promise<void> {
  asked.resume()
  if (asked.method !== "GET" && asked.method !== "HEAD") return end(reply, 405, "only GET")
  const path = (asked.url ?? "").split("?")[0] ?? ""
  switch (path) {
    case "/healthz/live":
      return end(reply, 200, "ok")
    case "/healthz/ready": {
      const reason = sources.notReady()
      return reason === undefined ? end(reply, 200, "ok") : end(reply, 503, reason)
    }
    case "/metrics": {
      const { type, text } = await sources.metrics()
      reply.writeHead(200, { "content-type": type })
      reply.end(text)
      return
    }
    default: {
      const probe = sources.probe(path)
      return probe === undefined ? end(reply, 404, "not found") : end(reply, await ask(probe), "")
    }
  }
}

/** Only status codes are passed on: a probe's caller has no business with the application's answers. */
function ask(probe: Probe): Promise<number> {
  return probe.kind === "tcp" ? askTcp(probe) : askHttp(probe)
}

function askHttp({ port, path, headers, timeoutMs }: Probe): Promise<number> {
  return new Promise(resolve => {
    // For all of it, also for an answer that never ends: probes come for ever.
    const signal = AbortSignal.timeout(timeoutMs)
    const outgoing = request({ host: "127.0.0.1", port, path, headers, signal, agent: false }, response => {
      response.resume()
      resolve(response.statusCode ?? 502)
    })
    outgoing.on("error", () => resolve(503))
    // Without an error where the application switched protocols, which nobody asked for.
    outgoing.on("close", () => resolve(503))
    outgoing.end()
  })
}

function askTcp({ port, timeoutMs }: Probe): Promise<number> {
  return new Promise(resolve => {
    const socket = connect({ host: "127.0.0.1", port, timeout: timeoutMs })
    const settle = (status: number): void => {
      socket.destroy()
      resolve(status)
    }
    socket.on("connect", () => settle(200))
    socket.on("timeout", () => settle(503))
    socket.on("error", () => settle(503))
  })
}

function end(reply: ServerResponse, status: number, text: string): void {
  reply.writeHead(status, { "content-type": "text/plain" })
  reply.end(text === "" ? "" : `${text}\n`)
}
