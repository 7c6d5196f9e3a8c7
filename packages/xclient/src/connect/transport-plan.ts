// SPDX-License-Identifier: Apache-2.0
// How to call one endpoint: mTLS if a MeshService requires it or the server accepts it, plaintext only if nothing
// requires more. Pure; there is no fallback from mTLS to plaintext.

import type { ServiceCluster, ServiceEndpoint } from "@merlon/xds"

export type TransportPlan =
  | { readonly kind: "plaintext" }
  | {
      readonly kind: "mutual"
      readonly sni: string
      /** SPIFFE ids, of which the server must have one. */
      readonly identities: readonly string[]
    }

export type PlanResult =
  | { readonly ok: true; readonly plan: TransportPlan }
  | { readonly ok: false; readonly reason: string }

export function planTransport(
  cluster: Pick<ServiceCluster, "tlsMode" | "sni" | "identities" | "name">,
  { mtlsMode, workload }: Pick<ServiceEndpoint, "mtlsMode" | "workload">,
  hasCertificate: boolean,
): PlanResult {
  if (cluster.tlsMode === "DISABLE") {
    if (mtlsMode !== "STRICT") return { ok: true, plan: { kind: "plaintext" } }
    return rejected(
      `a MeshService sets mode DISABLE, and \`${workload}\` accepts only mutual TLS (STRICT); set DUBBO_MUTUAL, or relax the PeerAuthentication`,
    )
  }
  const asked = cluster.tlsMode === "DUBBO_MUTUAL"
  if (!asked && (mtlsMode === undefined || mtlsMode === "DISABLE")) return { ok: true, plan: { kind: "plaintext" } }
  // Fail closed: without a certificate there is no fallback to plaintext, although a PERMISSIVE server would accept it.
  if (!hasCertificate) return rejected("mutual TLS is required, and this workload has no valid certificate")
  // Fail closed: without an expected identity, any server with a certificate of the mesh would be accepted.
  if (cluster.identities.length === 0) return rejected(`no identity is known that may serve \`${cluster.name}\``)
  return { ok: true, plan: { kind: "mutual", sni: cluster.sni, identities: cluster.identities } }
}

function rejected(reason: string): PlanResult {
  return { ok: false, reason }
}
