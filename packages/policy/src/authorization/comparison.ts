// SPDX-License-Identifier: Apache-2.0
// The differences in how Merlon and Istio compare values of rules. The evaluator and the proofs both use this. Two more
// differences need no field: how a request principal is divided (`compile`) and how many proxies are trusted
// (`MeshConfig`).

import type { Dialect } from "../mesh/config.js"

export interface Comparison {
  /** Which characters the operators of a template match, and whether `/*` covers the path of `OPTIONS *`. */
  readonly pathSyntax: "path" | "istio-path"
  /** Whether `a.example.` is the host `a.example`. */
  readonly ignoresTrailingDot: boolean
  /** Whether a pattern for a namespace may match `<namespace>/sa` of the identity as well. */
  readonly namespaceReachesAccount: boolean
  /** Whether the proxy reads the SNI in lower case; values of rules stay as written. */
  readonly lowersSni: boolean
  /** Whether numbers and booleans in claims are compared, as their JSON text. */
  readonly comparesNumbers: boolean
}

const MERLON: Comparison = {
  pathSyntax: "path",
  ignoresTrailingDot: true,
  namespaceReachesAccount: false,
  lowersSni: false,
  comparesNumbers: true,
}

// Istio writes a namespace as the regular expression `.*/ns/NAMESPACE/.*` over the whole identity.
const ISTIO: Comparison = {
  pathSyntax: "istio-path",
  ignoresTrailingDot: false,
  namespaceReachesAccount: true,
  lowersSni: true,
  comparesNumbers: false,
}

export const comparisonOf = (dialect: Dialect | undefined): Comparison => (dialect === "istio" ? ISTIO : MERLON)
