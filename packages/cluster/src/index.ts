// SPDX-License-Identifier: Apache-2.0
// A Kubernetes-compatible API server for one machine, or for several on a shared store. Exports how to start one, its
// limits, its errors and its stores. README.md is the tour.

/** An issuer's ID tokens besides tokens of our own, from command line flags or from options. */
export type { OidcOptions } from "./auth/oidc.js"
export { clusterOidcOptions, type OidcFlag, type OidcValues } from "./auth/oidc-flags.js"
/** Starts and stops the server; everything else here is an option or an error of it. */
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.js"
/** Why a server does not start, or its store does not answer: a closed table of codes. */
export { CLUSTER_ERRORS, ClusterError, type ClusterErrorCode, type ClusterErrorEntry } from "./errors.js"
/** What users may take at once, each and all together. */
export type { Limits } from "./http/limits.js"
/** A row of the table of built-in resources, which scripts/generate/kinds.ts writes. */
export type { RawResource } from "./kinds/resource-table.js"
