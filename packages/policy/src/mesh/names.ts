// SPDX-License-Identifier: Apache-2.0
// Every name that contains the product's name or domain is derived here and nowhere else, so that a mesh with another
// name accepts manifests written for it unchanged.

export interface MeshNames {
  readonly mesh: string
  readonly domain: string
  readonly securityGroup: string
  readonly networkingGroup: string
  readonly version: string
  readonly rootNamespace: string
  /** Namespace label that turns injection on, with the value `enabled`. */
  readonly injectionLabel: string
  /** Pod label that overrides it, `"true"` or `"false"`. */
  readonly injectLabel: string
  readonly dryRunAnnotation: string
  /** Labels of an authorizer that name its target, by kind of target. */
  readonly gatewayLabels: { readonly [K in GatewayTargetKind]: string }
  /** `kubectl get <category>` lists every kind of ours. */
  readonly category: string
  /** The same for the security kinds only. */
  readonly policyCategory: string
  readonly tokenAudience: string
  /** Response header that contains the id of a denial. */
  readonly decisionHeader: string
  /** Response header with the reason why a proxy replied instead of the application. */
  readonly failureHeader: string
  /** Request header of a question to a provider: the authorizers that wait for its answer. */
  readonly askedByHeader: string
  /** ALPN protocols that mark a TLS connection as the mesh's own. */
  readonly alpn: readonly string[]
}

/** Kinds of the Gateway API that a policy may target. */
export const GATEWAY_TARGET_KINDS = ["Gateway", "HTTPRoute", "GRPCRoute"] as const
export type GatewayTargetKind = (typeof GATEWAY_TARGET_KINDS)[number]
export const GATEWAY_GROUP = "gateway.networking.k8s.io"

const WORD = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/

export function meshNames({ mesh = "merlon", domain = "merlon.dev" } = {}): MeshNames {
  if (!WORD.test(mesh) || mesh.length > 40)
    throw new RangeError(`the mesh word \`${mesh}\` must be a DNS label of at most 40 characters`)
  if (!DOMAIN.test(domain) || domain.length > 200)
    throw new RangeError(`the domain \`${domain}\` must be a DNS name with at least one dot`)
  return {
    mesh,
    domain,
    securityGroup: `security.${domain}`,
    networkingGroup: `networking.${domain}`,
    version: "v1alpha3",
    rootNamespace: `${mesh}-system`,
    injectionLabel: `${mesh}-injection`,
    injectLabel: `sidecar.${domain}/inject`,
    dryRunAnnotation: `${domain}/dry-run`,
    gatewayLabels: {
      Gateway: `${domain}/gateway`,
      HTTPRoute: `${domain}/http-route`,
      GRPCRoute: `${domain}/grpc-route`,
    },
    category: mesh,
    policyCategory: `${mesh}-policy`,
    tokenAudience: `${mesh}-ca`,
    decisionHeader: `x-${mesh}-decision`,
    failureHeader: `x-${mesh}-failure`,
    askedByHeader: `x-${mesh}-asked-by`,
    alpn: [mesh, `${mesh}-http/1.1`, `${mesh}-h2`],
  }
}
