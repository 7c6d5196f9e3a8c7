// SPDX-License-Identifier: Apache-2.0
// What the control plane sends a proxy, as plain values. Each is a resource with a name and a version, so that a change
// sends only what changed; together they are what the proxy enforces.

import { createHash } from "node:crypto"
import type { AuthorizationProvider, PathNormalization } from "@merlon/policy/mesh"

export const PROXY_RESOURCE = "type.googleapis.com/merlon.mesh.v1.ProxyResource"

export interface PortSpec {
  /** The workload's own port, which policies and port-level modes name. */
  readonly port: number
  /** The port on which xserver listens: 15080 for the first port, 15081 for the second. */
  readonly listen: number
  readonly protocol: "http" | "tcp" | "auto"
  readonly upstreamProtocol: "http/1.1" | "h2c"
  /** Host names of the Services for this port, in every form that a caller may use as SNI. */
  readonly serviceNames: readonly string[]
  /** Protocols besides `websocket` that connections may be switched to; nothing after the switch is evaluated. */
  readonly upgrades: readonly string[]
}

export interface ProbeSpec {
  readonly kind: "http" | "https" | "tcp" | "grpc"
  readonly port: number
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly timeoutMs: number
}

export interface MeshSpec {
  readonly mesh: string
  readonly domain: string
  readonly trustDomain: string
  readonly trustDomainAliases: readonly string[]
  readonly pathNormalization: PathNormalization
  readonly numTrustedProxies: number
  /** The external authorizers that CUSTOM policies may name. */
  readonly providers: readonly AuthorizationProvider[]
}

export interface WorkloadSpec {
  readonly mesh: MeshSpec
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  readonly labels: { readonly [key: string]: string }
  /** Names of the Services in its namespace that select it; policies may name them instead of labels. */
  readonly services: readonly string[]
  readonly ports: readonly PortSpec[]
  /** Kubelet probes that xserver answers, by path. */
  readonly probes: { readonly [path: string]: ProbeSpec }
}

export interface KeySetSpec {
  /** The result of `keySetId`. */
  readonly id: string
  readonly jwks: string
}

export interface TrustSpec {
  /** PEM of every trusted root. */
  readonly bundle: string
  /**
   * SHA-256 of the DER of the current signing root, in lower-case hex: a certificate of another root is renewed at
   * once.
   */
  readonly signer: string
  readonly revokedIdentities: readonly string[]
  /** Upper-case hex without leading zeros. */
  readonly revokedSerials: readonly string[]
}

export type ProxyResource =
  | { readonly kind: "workload"; readonly workload: WorkloadSpec }
  | { readonly kind: "policy"; readonly document: unknown }
  | { readonly kind: "keySet"; readonly keySet: KeySetSpec }
  | { readonly kind: "trust"; readonly trust: TrustSpec }

/** Names on the wire. A proxy has one workload and one trust, and any number of the others. */
export const resourceNames = {
  workload: "workload",
  trust: "trust",
  policy: (kind: string, namespace: string, name: string): string => `policy/${kind}/${namespace}/${name}`,
  // Hashed, because users choose the length of issuers and their URIs: a proxy that lists its resources when it
  // reconnects must not be rejected because of a long name.
  keySet: (id: string): string => `keys/${createHash("sha256").update(id).digest("hex")}`,
} as const
