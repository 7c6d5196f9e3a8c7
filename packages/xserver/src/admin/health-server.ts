// SPDX-License-Identifier: Apache-2.0
// The health port: readiness, liveness, metrics, and the kubelet's probes of the application. Anyone can connect to it,
// so it reveals nothing about policies.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { limitConnections, SMALL_REQUESTS } from "@merlon/wire/limits"
import type { Probe } from "../config/probe.js"
import { type ApplicationHost, probeApplication } from "./probe-application.js"

export interface HealthSources {
  /** Undefined when ready, otherwise the reason. */
  notReady(): string | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  probe(path: string): Probe | undefined
  /** Address that probes connect to; loopback if undefined. */
  application(): ApplicationHost | undefined
}

export function healthServer(sources: HealthSources): Server {
  const server = createServer(SMALL_REQUESTS, (asked, reply) => {
    answer(asked, reply, sources).catch(() => end(reply, 500, "internal error"))
  })
  limitConnections(server)
  return server
}

async function answer(asked: IncomingMessage, reply: ServerResponse, sources: HealthSources): Promise<void> {
  asked.resume()
  if (asked.method !== "GET" && asked.method !== "HEAD") return end(reply, 405, "only GET is allowed")
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
      return probe === undefined
        ? end(reply, 404, "not found")
        : end(reply, await probeApplication(probe, sources.application()), "")
    }
  }
}

function end(reply: ServerResponse, status: number, text: string): void {
  reply.writeHead(status, { "content-type": "text/plain" })
  reply.end(text === "" ? "" : `${text}\n`)
}
