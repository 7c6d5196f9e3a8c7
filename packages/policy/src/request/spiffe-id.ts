// SPDX-License-Identifier: Apache-2.0
// Workload identities: `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`, parsed once per connection.

export interface SpiffeId {
  readonly uri: string
  /** The form that policies use: the URI without its scheme. */
  readonly principal: string
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
}

// SPIFFE-ID sections 2.1 and 2.2: a trust domain of lower-case letters, digits, `.`, `-` and `_`; path segments of
// letters, digits, `.`, `-` and `_`, never `.` or `..`.
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/
const MAX_LENGTH = 2048

/** The identity, or undefined if the text is not one of the mesh: there is no half-valid identity. */
export function parseSpiffeId(uri: string): SpiffeId | undefined {
  if (uri.length > MAX_LENGTH || !uri.startsWith("spiffe://")) return undefined
  const principal = uri.slice("spiffe://".length)
  const parts = principal.split("/")
  if (parts.length !== 5) return undefined
  const [trustDomain, ns, namespace, sa, serviceAccount] = parts
  if (ns !== "ns" || sa !== "sa") return undefined
  if (trustDomain === undefined || namespace === undefined || serviceAccount === undefined) return undefined
  if (!TRUST_DOMAIN.test(trustDomain) || !SEGMENT.test(namespace) || !SEGMENT.test(serviceAccount)) return undefined
  return { uri, principal, trustDomain, namespace, serviceAccount }
}

export function spiffeId(trustDomain: string, namespace: string, serviceAccount: string): SpiffeId {
  const uri = `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`
  const id = parseSpiffeId(uri)
  if (id === undefined) throw new RangeError(`not a workload identity: \`${uri}\``)
  return id
}
