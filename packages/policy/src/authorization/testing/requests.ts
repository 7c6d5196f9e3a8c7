// SPDX-License-Identifier: Apache-2.0
// Short forms of requests and policies for tables of test cases.

import { type MeshConfig, meshConfig } from "../../mesh/config.js"
import type { Attributes, Claim } from "../../request/attributes.js"
import { type IpAddress, parseIp } from "../../request/ip.js"
import { normalizeTarget } from "../../request/path.js"
import { parseSpiffeId } from "../../request/spiffe-id.js"
import type { AuthorizationPolicySpec, Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, RequestAuthentication } from "../../resources/document.js"

export interface Asked {
  readonly peer?: string
  readonly claims?: { readonly [name: string]: Claim }
  readonly method?: string
  /** null for a request without a host. */
  readonly host?: string | null
  readonly target?: string
  readonly headers?: { readonly [lowerCaseName: string]: readonly string[] }
  readonly from?: string
  readonly remote?: string
  readonly to?: string
  readonly port?: number
  readonly sni?: string
}

export const mesh: MeshConfig = meshConfig()

export function ip(text: string): IpAddress {
  const address = parseIp(text)
  if (address === undefined) throw new RangeError(`not an address: ${text}`)
  return address
}

export function httpRequest(asked: Asked = {}, config = mesh): Attributes {
  const target = normalizeTarget(asked.target ?? "/", config.pathNormalization, config.dialect)
  if (target === undefined) throw new RangeError(`not a target: ${asked.target}`)
  return {
    ...tcpConnection(asked),
    http: {
      method: asked.method ?? "GET",
      scheme: "http",
      host: asked.host === null ? undefined : (asked.host ?? "httpbin.foo:8000"),
      path: target.path,
      query: target.query,
      headers: new Map(Object.entries(asked.headers ?? {})),
    },
    token: asked.claims && verifiedToken(asked.claims),
  }
}

export function tcpConnection(asked: Asked = {}): Attributes {
  const peer = asked.peer === undefined ? undefined : parseSpiffeId(`spiffe://${asked.peer}`)
  if (asked.peer !== undefined && peer === undefined) throw new RangeError(`not an identity: ${asked.peer}`)
  return {
    peer,
    sourceIp: ip(asked.from ?? "10.0.0.9"),
    remoteIp: ip(asked.remote ?? asked.from ?? "10.0.0.9"),
    destinationIp: ip(asked.to ?? "10.0.0.1"),
    destinationPort: asked.port ?? 8080,
    sni: asked.sni,
    http: undefined,
    token: undefined,
  }
}

function verifiedToken(claims: { readonly [name: string]: Claim }): NonNullable<Attributes["token"]> {
  const issuer = typeof claims.iss === "string" ? claims.iss : undefined
  const subject = typeof claims.sub === "string" ? claims.sub : undefined
  return { issuer, subject, claims }
}

/** Rules that name these issuers but look where there is no token, so that only the names matter. */
export function naming(
  issuers: readonly string[],
  enforcement: "Enforce" | "Shadow" = "Enforce",
): RequestAuthentication {
  return {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "RequestAuthentication",
    metadata: { name: `naming-${enforcement}`.toLowerCase(), namespace: "foo" },
    spec: { enforcement, jwtRules: issuers.map(issuer => ({ issuer })) },
  }
}

export function policy(name: string, spec: AuthorizationPolicySpec, namespace = "foo"): AuthorizationPolicy {
  return {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name, namespace, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec,
  }
}

export const allow = (...rules: Rule[]): AuthorizationPolicy => policy("allow", { action: "ALLOW", rules })
export const deny = (...rules: Rule[]): AuthorizationPolicy => policy("deny", { action: "DENY", rules })

export const workload = { namespace: "foo", name: "httpbin-1", labels: { app: "httpbin", version: "v1" } } as const
