// SPDX-License-Identifier: Apache-2.0
// The kubelet has no mesh identity, so under STRICT it could not probe the application. Its probes are redirected to
// xserver, which probes on its behalf; the originals become the list of allowed probes. Every caller can send xserver
// the same probe, so hooks are not rewritten: a probe only reads, while a hook makes the application act.

import type { ProbeSpec } from "@merlon/xds"
import { type Foreign, listOf, objectOf, portOf, textOf } from "../registry/foreign.js"
import { HEALTH_PORT } from "./injection-options.js"

const PROBES = { readinessProbe: "readyz", livenessProbe: "livez", startupProbe: "startupz" } as const
const HOOKS = ["postStart", "preStop"] as const

export interface RewrittenProbes {
  readonly containers: readonly Foreign[]
  /** Init containers that keep running are probed too; the others are unchanged. */
  readonly initContainers: readonly Foreign[]
  readonly probes: { readonly [path: string]: ProbeSpec }
  readonly warnings: readonly string[]
}

export function rewriteProbes(
  containers: readonly unknown[],
  initContainers: readonly unknown[] = [],
): RewrittenProbes {
  const rewriter = new Rewriter()
  const rewritten = containers.map(value => rewriter.container(objectOf(value)))
  const lasting = initContainers.map(value => {
    const container = objectOf(value)
    return container.restartPolicy === "Always" ? rewriter.container(container) : container
  })
  return {
    containers: rewritten,
    initContainers: lasting,
    probes: rewriter.probes,
    warnings: rewriter.warnings,
  }
}

class Rewriter {
  readonly probes: Record<string, ProbeSpec> = {}
  readonly warnings: string[] = []

  container(original: Foreign): Foreign {
    const container = { ...original }
    for (const [field, suffix] of Object.entries(PROBES)) {
      const changed = this.#rewrite(container, container[field], suffix, `\`${field}\``)
      if (changed !== undefined) container[field] = changed
    }
    for (const hook of HOOKS) {
      const { httpGet, tcpSocket } = objectOf(objectOf(container.lifecycle)[hook])
      if (httpGet === undefined && tcpSocket === undefined) continue
      const name = textOf(container.name) ?? ""
      this.warnings.push(
        `container \`${name}\`: \`lifecycle.${hook}\` calls in plaintext, so STRICT rejects it; use \`exec\``,
      )
    }
    return container
  }

  /** Undefined if the probe stays unchanged. */
  #rewrite(container: Foreign, value: unknown, suffix: string, label: string): Foreign | undefined {
    if (value === undefined || value === null) return undefined
    const { httpGet, tcpSocket, grpc, ...timing } = objectOf(value)
    const asked = askedBy({ httpGet, tcpSocket, grpc, timing }, container)
    if (asked === undefined) return undefined
    const name = textOf(container.name) ?? ""
    if (typeof asked === "string") {
      this.warnings.push(`container \`${name}\`: ${label} ${asked}`)
      return undefined
    }
    const path = `/app-health/${name}/${suffix}`
    this.probes[path] = asked
    return { ...timing, httpGet: { path, port: HEALTH_PORT, scheme: "HTTP" } }
  }
}

interface Parts {
  readonly httpGet: unknown
  readonly tcpSocket: unknown
  readonly grpc: unknown
  readonly timing: Foreign
}

/** The probe for xserver; undefined if it does not apply, a string with the reason if it cannot be rewritten. */
function askedBy({ httpGet, tcpSocket, grpc, timing }: Parts, container: Foreign): ProbeSpec | string | undefined {
  const target = objectOf(httpGet ?? tcpSocket ?? grpc)
  // A command, or a probe of another host.
  if ((httpGet ?? tcpSocket ?? grpc) === undefined || textOf(target.host) !== undefined) return undefined
  const port = portNumber(target.port, container)
  if (port === undefined) return `is not rewritten: no port \`${String(target.port)}\` is declared`
  const timeoutMs = (portOf(timing.timeoutSeconds) ?? 1) * 1000
  const common = { port, headers: {}, timeoutMs }
  if (httpGet === undefined) {
    const service = textOf(target.service) ?? ""
    return grpc === undefined ? { ...common, kind: "tcp", path: "" } : { ...common, kind: "grpc", path: service }
  }
  const headers = Object.fromEntries(
    listOf(target.httpHeaders)
      .map(objectOf)
      .flatMap(({ name, value }) => (textOf(name) === undefined ? [] : [[name, textOf(value) ?? ""]])),
  )
  const path = textOf(target.path) ?? "/"
  return { ...common, kind: target.scheme === "HTTPS" ? "https" : "http", path, headers }
}

/** Resolves the port like the kubelet: a name is looked up among the container's own ports. */
function portNumber(port: unknown, container: Foreign): number | undefined {
  if (typeof port === "number") return portOf(port)
  const declared = listOf(container.ports).map(objectOf)
  const digits = typeof port === "string" && /^\d+$/.test(port) ? portOf(Number(port)) : undefined
  return digits ?? portOf(declared.find(({ name }) => name === port)?.containerPort)
}
