// SPDX-License-Identifier: Apache-2.0
// What a pair of proxies does with each request, and how it is called.

import { CallerProcess, CONNECTIONS, HTTP2_LOAD, requestsOf } from "../proxy/call.js"
import type { Material } from "../proxy/material.js"
import type { Upstreams } from "../proxy/work.js"
import type { Site } from "./site.js"

export interface Scenario {
  readonly name: string
  readonly protocol: "http/1.1" | "http/2" | "grpc"
  readonly path: string
  /** Whether the server's proxy verifies a token. */
  readonly token: boolean
  readonly perSecond?: number
  /** Whether one process is the proxy of caller and server: a workload that calls its own Service. */
  readonly together?: boolean
}

/** The address that a caller connects to. */
export interface Target {
  readonly host: string
  readonly port: number
  /** With `http_proxy`, requests name the Service themselves. */
  readonly isHttpProxy: boolean
}

/** The Service's name for callers. */
export const SERVICE = { host: "app.bench", port: 80 } as const
const TOKENS = 100

export function isHttp2({ protocol }: Scenario): boolean {
  return protocol !== "http/1.1"
}

export function upstreamOf(scenario: Scenario, { http1, grpc }: Upstreams): number {
  return isHttp2(scenario) ? grpc : http1
}

export function callerOf(scenario: Scenario, { host, port, isHttpProxy }: Target, material: Material, site: Site) {
  const { path, token, protocol, perSecond } = scenario
  const tokens = token ? material.tokens.slice(0, TOKENS) : []
  const prefix = site.prefix("caller")
  const to = { host, port, mtls: undefined }
  if (isHttp2(scenario)) {
    const options = { ...to, ...HTTP2_LOAD, path, grpc: protocol === "grpc", tokens }
    return new CallerProcess("load-http2", options, material.folder, prefix)
  }
  const requests = requestsOf(isHttpProxy ? `http://${SERVICE.host}:${SERVICE.port}${path}` : path, tokens)
  const connections = { connections: CONNECTIONS, reconnect: false, resume: false }
  return new CallerProcess("load", { ...to, ...connections, requests, perSecond }, material.folder, prefix)
}
