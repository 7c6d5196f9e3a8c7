// SPDX-License-Identifier: Apache-2.0
// Parses a line of a proxy's access log, Merlon's or Envoy's, back into its request. Headers and tokens are not logged,
// so if policies use them, the request must be completed with flags.

import { isObject } from "../resources/field.js"
import type { DescribedRequest } from "./described-request.js"
import { type EnvoyLine, readEnvoyLine } from "./envoy-line.js"
import { RequestDescriptionError } from "./request-description-error.js"

export function readLogLine(line: string): DescribedRequest {
  const envoys = readEnvoyLine(line)
  if (envoys !== undefined) return askedOf(envoys)
  const record = recordIn(line)
  const text = (name: string): string | undefined => {
    const value = record[name]
    return typeof value === "string" && value !== "" ? value : undefined
  }
  const { port } = record
  const tcp = text("protocol") === "tcp"
  const peer = text("peer")
  return {
    ...(tcp ? { protocol: "tcp" as const } : { host: text("host") ?? null }),
    ...(tcp ? {} : given("method", text("method"))),
    ...(tcp ? {} : given("path", text("path"))),
    ...given("from", peer?.replace(/^spiffe:\/\//, "")),
    ...given("ip", text("source")),
    ...(typeof port === "number" ? { port } : {}),
  }
}

function askedOf(line: EnvoyLine): DescribedRequest {
  if (line.direction === "outbound") throw new RequestDescriptionError(OUTBOUND)
  const { protocol, method, path, host, port, source, destination, peer, sni, headers } = line
  return {
    ...(protocol === "tcp" ? { protocol } : { host: host ?? null }),
    ...given("method", method),
    ...given("path", path),
    ...given("from", peer?.replace(/^spiffe:\/\//, "")),
    ...given("ip", source),
    ...given("destinationIp", destination),
    ...(port !== undefined && { port }),
    ...(Object.keys(headers).length > 0 && { headers }),
    // A plaintext connection has no server name.
    ...(peer !== undefined && given("sni", sni)),
  }
}

const OUTBOUND = "that line tells of a call that the workload made; give the line of the proxy that was called"

function recordIn(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = undefined
  }
  if (isObject(value) && value.direction === "outbound") {
    throw new RequestDescriptionError(OUTBOUND)
  }
  if (isObject(value) && ("method" in value || "protocol" in value)) return value
  throw new RequestDescriptionError(
    "that is no line of an access log; give one as JSON, as `--access-log json` writes it, or of Istio's Envoy",
  )
}

const given = <K extends string>(name: K, value: string | undefined) => (value === undefined ? {} : { [name]: value })
