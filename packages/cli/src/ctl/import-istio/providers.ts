// SPDX-License-Identifier: Apache-2.0
// Converts the extension providers of Istio's mesh configuration that authorize requests to a file for `merlond serve
// --providers`, in a ConfigMap. A provider is converted completely or reported as lost: one that gets fewer requests,
// or is trusted with more, would not be the same.

import { type MeshNames, readProviderSettings } from "@merlon/policy/mesh"
import { durationMilliseconds } from "@merlon/policy/shape"
import { parse, stringify } from "yaml"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import type { Document, Remark } from "./imported.js"

const KINDS = { envoyExtAuthzGrpc: "grpc", envoyExtAuthzHttp: "http" } as const
const KNOWN = new Set([
  "service",
  "port",
  "timeout",
  "failOpen",
  "pathPrefix",
  "includeRequestHeadersInCheck",
  "includeHeadersInCheck",
  "headersToUpstreamOnAllow",
  "headersToDownstreamOnDeny",
])
/** Envoy always sends this header over HTTP. */
const ALWAYS_SENT = "authorization"
const MAX_TIMEOUT_MS = 30_000

export function importProviders({ object }: Document, names: MeshNames, remarks: Remark[]): readonly Fields[] {
  const declared = listOf(meshConfigOf(object).extensionProviders).map(fieldsOf)
  const providers = declared.flatMap(provider => translated(provider, remarks))
  if (providers.length === 0) return []
  const name = `${names.mesh}-providers`
  remarks.push({
    about: `ConfigMap ${names.rootNamespace}/${name}`,
    severity: "changed",
    message: "holds the providers of CUSTOM policies: pass its `providers.yaml` to `merlond serve --providers`",
  })
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: names.rootNamespace },
      data: { "providers.yaml": stringify({ providers }) },
    },
  ]
}

/** The mesh configuration in the ConfigMap `istio` or in an IstioOperator. */
function meshConfigOf({ kind, metadata, data, spec }: Fields): Fields {
  if (kind === "IstioOperator") return fieldsOf(fieldsOf(spec).meshConfig)
  const { mesh } = fieldsOf(data)
  if (kind !== "ConfigMap" || fieldsOf(metadata).name !== "istio" || typeof mesh !== "string") return {}
  try {
    return fieldsOf(parse(mesh))
  } catch {
    return {}
  }
}

function translated(declared: Fields, remarks: Remark[]): readonly Fields[] {
  const name = textOf(declared.name) ?? ""
  const about = `extension provider ${name}`
  const [kind, protocol] = Object.entries(KINDS).find(([one]) => declared[one] !== undefined) ?? []
  // Telemetry providers do not authorize.
  if (kind === undefined || protocol === undefined) return []
  const settings = fieldsOf(declared[kind])
  const unknown = Object.keys(settings).filter(field => !KNOWN.has(field))
  if (unknown.length > 0) {
    remarks.push({ about, severity: "lost", message: `\`${unknown.join("`, `")}\` has no counterpart` })
    return []
  }
  const provider = inOurWords(name, protocol, settings)
  try {
    readProviderSettings({ providers: [provider] }, () => "")
    return [provider]
  } catch (error) {
    remarks.push({ about, severity: "lost", message: error instanceof Error ? error.message : String(error) })
    return []
  }
}

function inOurWords(name: string, protocol: "grpc" | "http", settings: Fields): Fields {
  const { service, port, timeout, failOpen, pathPrefix, headersToUpstreamOnAllow, headersToDownstreamOnDeny } = settings
  // `namespace/host` limits the search for the host to one namespace. The host name identifies the same Service.
  const host = textOf(service)?.split("/").at(-1) ?? ""
  const sent = [...listOf(settings.includeRequestHeadersInCheck), ...listOf(settings.includeHeadersInCheck)]
  const waits = durationMilliseconds(textOf(timeout) ?? "")
  return {
    name,
    protocol,
    address: `${host}:${String(port)}`,
    // Istio's default is ten minutes, longer than any caller waits.
    ...(waits !== undefined && { timeoutMs: Math.min(MAX_TIMEOUT_MS, Math.max(1, Math.round(waits))) }),
    ...(failOpen === true && { failureMode: "open" }),
    ...(pathPrefix !== undefined && { pathPrefix }),
    sendHeaders: protocol === "grpc" ? ["*"] : [ALWAYS_SENT, ...sent],
    ...(headersToUpstreamOnAllow !== undefined && { headersToUpstream: headersToUpstreamOnAllow }),
    ...(headersToDownstreamOnDeny !== undefined && { headersToCaller: headersToDownstreamOnDeny }),
  }
}
