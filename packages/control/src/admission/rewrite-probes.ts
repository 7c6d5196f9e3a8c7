// SPDX-License-Identifier: Apache-2.0
// The kubelet has no identity in the mesh, so under STRICT it could not ask the application whether it lives. Its probes
// are pointed at xserver, which asks in its place; the originals become the list of what xserver may be asked.

import type { ProbeSpec } from "@merlon/xds"
import { type Foreign, listOf, objectOf, portOf, textOf } from "../registry/foreign.js"
import { HEALTH_PORT } from "./injection-options.js"

const PROBES = { readinessProbe: "readyz", livenessProbe: "livez", startupProbe: "startupz" } as const

export interface RewrittenProbes {
  readonly containers: readonly Foreign[]
  readonly probes: { readonly [path: string]: ProbeSpec }
  readonly warnings: readonly string[]
}

export function rewriteProbes(containers: readonly unknown[]): RewrittenProbes {
  const probes: Record<string, ProbeSpec> = {}
  const warnings: string[] = []
  const rewritten = containers.map(value => {
    const container = { ...objectOf(value) }
    const name = textOf(container.name) ?? ""
    for (const [field, suffix] of Object.entries(PROBES)) {
      if (container[field] === undefined || container[field] === null) continue
      const { httpGet, tcpSocket, grpc, ...timing } = objectOf(container[field])
      const asked = original({ httpGet, tcpSocket, grpc, timing }, container)
      if (asked === undefined) continue
      if (typeof asked === "string") {
        warnings.push(`container \`${name}\`: \`${field}\` ${asked}`)
        continue
      }
      if (asked.warning !== undefined) warnings.push(`container \`${name}\`: \`${field}\` ${asked.warning}`)
      const path = `/app-health/${name}/${suffix}`
      probes[path] = asked.probe
      container[field] = { ...timing, httpGet: { path, port: HEALTH_PORT, scheme: "HTTP" } }
    }
    if (JSON.stringify(container.lifecycle ?? {}).includes('"httpGet"')) {
      warnings.push(
        `container \`${name}\`: \`lifecycle\` calls it without an identity, which STRICT refuses; use \`exec\``,
      )
    }
    return container
  })
  return { containers: rewritten, probes, warnings }
}

interface Parts {
  readonly httpGet: unknown
  readonly tcpSocket: unknown
  readonly grpc: unknown
  readonly timing: Foreign
}

/** What xserver is to ask; undefined where it is not concerned, text where the probe stays although it is. */
function original(
  { httpGet, tcpSocket, grpc, timing }: Parts,
  container: Foreign,
): { readonly probe: ProbeSpec; readonly warning?: string } | string | undefined {
  const target = objectOf(httpGet ?? tcpSocket ?? grpc)
  // A command, or a question to somebody else.
  if ((httpGet ?? tcpSocket ?? grpc) === undefined || textOf(target.host) !== undefined) return undefined
  const port = portNumber(target.port, container)
  if (port === undefined) return `stays as it is: no port \`${String(target.port)}\` is declared`
  const timeoutMs = (portOf(timing.timeoutSeconds) ?? 1) * 1000
  if (httpGet === undefined || target.scheme === "HTTPS") {
    const probe: ProbeSpec = { kind: "tcp", port, path: "", headers: {}, timeoutMs }
    // What the application says over its own TLS or gRPC, xserver cannot ask.
    return tcpSocket === undefined ? { probe, warning: "now only looks whether the port is open" } : { probe }
  }
  const headers = Object.fromEntries(
    listOf(target.httpHeaders)
      .map(objectOf)
      .flatMap(({ name, value }) => (textOf(name) === undefined ? [] : [[name, textOf(value) ?? ""]])),
  )
  return { probe: { kind: "http", port, path: textOf(target.path) ?? "/", headers, timeoutMs } }
}

/** As the kubelet reads it: a name is looked up among the container's own ports. */
function portNumber(port: unknown, container: Foreign): number | undefined {
  if (typeof port === "number") return portOf(port)
  const declared = listOf(container.ports).map(objectOf)
  const digits = typeof port === "string" && /^\d+$/.test(port) ? portOf(Number(port)) : undefined
  return digits ?? portOf(declared.find(({ name }) => name === port)?.containerPort)
}
