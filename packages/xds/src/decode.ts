// SPDX-License-Identifier: Apache-2.0
// Decodes what a proxy receives, strictly: a field of the wrong type rejects the resource, and with it the update.
// Unknown fields are ignored, so that proxies may be older than their control plane. A policy only has to be a mapping
// here; `@merlon/policy` parses it and rejects unknown fields.

import { fromBinary } from "@bufbuild/protobuf"
import { PATH_NORMALIZATIONS, readProviders } from "@merlon/policy/mesh"
import { choice, list, openObject, orElse, type Read, record, text, whole, wrong } from "@merlon/policy/shape"
import { type ProxyResource as ProxyResourceMessage, ProxyResourceSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import { MalformedResource, readJson } from "./malformed-resource.js"
import type {
  KeySetSpec,
  MeshSpec,
  PortSpec,
  ProbeSpec,
  ProxyResource,
  TrustSpec,
  WorkloadSpec,
} from "./proxy-resource.js"

const MAX_NAME = 1_024
const MAX_VALUE = 16_384
const MAX_ENTRIES = 4_096
const MAX_JWKS = 4 * 1024 * 1024
const MAX_BUNDLE = 1024 * 1024
const MAX_REVOKED = 1024 * 1024
/** One hour; kubelets never wait longer. */
const MAX_TIMEOUT_MS = 3_600_000

const port = whole(1, 65_535)
const name = text(MAX_NAME)

const mesh = openObject<MeshSpec>({
  mesh: name,
  domain: name,
  trustDomain: name,
  trustDomainAliases: list(MAX_ENTRIES, name),
  pathNormalization: choice(...PATH_NORMALIZATIONS),
  numTrustedProxies: whole(0, 1_000),
  // Older control planes do not send it, nor policies that name a provider.
  providers: readProviders,
})

const portSpec = openObject<PortSpec>({
  port,
  listen: port,
  protocol: choice("http", "tcp", "auto"),
  upstreamProtocol: choice("http/1.1", "h2c"),
  serviceNames: list(MAX_ENTRIES, name),
  // Older control planes do not send it.
  upgrades: orElse(list(256, name), []),
})

const probe = openObject<ProbeSpec>({
  kind: choice("http", "https", "tcp", "grpc"),
  port,
  path: text(MAX_VALUE),
  headers: record(256, text(MAX_VALUE)),
  timeoutMs: whole(0, MAX_TIMEOUT_MS),
})

const workload = openObject<WorkloadSpec>({
  mesh,
  namespace: name,
  name,
  serviceAccount: name,
  labels: record(MAX_ENTRIES, text(MAX_VALUE)),
  // Older control planes do not send it, nor policies that name Services.
  services: orElse(list(MAX_ENTRIES, name), []),
  ports: list(256, portSpec),
  probes: record(256, probe),
})

const keySet = openObject<KeySetSpec>({ id: text(MAX_VALUE), jwks: text(MAX_JWKS) })

const trust = openObject<TrustSpec>({
  bundle: text(MAX_BUNDLE),
  signer: name,
  revokedIdentities: list(MAX_REVOKED, text(2_048)),
  revokedSerials: list(MAX_REVOKED, text(128)),
})

const document: Read<unknown> = (value, path) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value
  throw wrong(path, "must be a mapping", value)
}

/** Throws a `MalformedResource` that names the field. */
export function decodeProxyResource(bytes: Uint8Array): ProxyResource {
  const content = contentOf(bytes)
  switch (content.case) {
    case "workload":
      return { kind: "workload", workload: readJson(content.value, workload, "workload") }
    case "policy":
      return { kind: "policy", document: readJson(content.value, document, "policy") }
    case "keySet":
      return { kind: "keySet", keySet: readJson(content.value, keySet, "keySet") }
    case "trust":
      return { kind: "trust", trust: readJson(content.value, trust, "trust") }
    case undefined:
      // Fail closed: an unknown kind from a newer control plane cannot be enforced, so it is not acknowledged.
      throw new MalformedResource(
        "the resource is of a kind that this version does not know; upgrade the proxy",
        "unknown-resource",
      )
  }
}

function contentOf(bytes: Uint8Array): ProxyResourceMessage["content"] {
  try {
    return fromBinary(ProxyResourceSchema, bytes).content
  } catch {
    throw new MalformedResource("the resource is not a ProxyResource message")
  }
}
