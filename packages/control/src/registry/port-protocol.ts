// SPDX-License-Identifier: Apache-2.0
// The protocol of a port, if declared: `appProtocol` of a Service, else the prefix of a port's name.

import type { PortSpec } from "@merlon/xds"

/** In the terms of `ServicePort.appProtocol`. */
export type DeclaredProtocol = "http" | "http2" | "grpc" | "tcp"

export type Spoken = Pick<PortSpec, "protocol" | "upstreamProtocol">

const WORDS: ReadonlyMap<string, DeclaredProtocol> = new Map([
  ["http", "http"],
  ["http1", "http"],
  ["grpc-web", "http"],
  ["ws", "http"],
  ["kubernetes.io/ws", "http"],
  ["http2", "http2"],
  ["h2c", "http2"],
  ["kubernetes.io/h2c", "http2"],
  ["grpc", "grpc"],
  ["tcp", "tcp"],
  // An application that terminates TLS itself hides the contents, so we treat it as bytes.
  ["https", "tcp"],
  ["tls", "tcp"],
  ["wss", "tcp"],
  ["kubernetes.io/wss", "tcp"],
  ["mongo", "tcp"],
  ["mysql", "tcp"],
  ["redis", "tcp"],
])

export function protocolOfAppProtocol(appProtocol: string | undefined): DeclaredProtocol | undefined {
  return appProtocol === undefined ? undefined : WORDS.get(appProtocol.toLowerCase())
}

/** `http` or `http-admin`: a protocol, optionally followed by a dash and more. */
export function protocolOfName(name: string | undefined): DeclaredProtocol | undefined {
  if (name === undefined) return undefined
  const [first = "", second] = name.toLowerCase().split("-", 2)
  if (first === "grpc" && second === "web") return "http"
  return first.includes("/") ? undefined : WORDS.get(first)
}

export function spoken(declared: DeclaredProtocol | undefined): Spoken {
  switch (declared) {
    case undefined:
      return { protocol: "auto", upstreamProtocol: "http/1.1" }
    case "tcp":
      return { protocol: "tcp", upstreamProtocol: "http/1.1" }
    case "http":
      return { protocol: "http", upstreamProtocol: "http/1.1" }
    case "http2":
    case "grpc":
      return { protocol: "http", upstreamProtocol: "h2c" }
  }
}
