// SPDX-License-Identifier: Apache-2.0
// A Kubernetes-compatible API server for one machine, or for several on a shared store. Exports how to start one, its
// limits, its errors and its stores. README.md is the tour.

/** ID tokens of an issuer in addition to the cluster's own tokens, from command-line flags or from options. */
export type { OidcOptions } from "./auth/oidc.js"
export { clusterOidcOptions, type OidcFlag, type OidcValues } from "./auth/oidc-flags.js"
/** Starts and stops the server. All other exports are options or errors of it. */
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.js"
/** Why a server does not start or its store does not respond: a closed table of codes. */
export { CLUSTER_ERRORS, ClusterError, type ClusterErrorCode, type ClusterErrorEntry } from "./errors.js"
/** Limits on what users may take at once, each and in total. */
export type { Limits } from "./http/limits.js"
/** A row of the table of built-in resources, which scripts/generate/kinds.ts generates. */
export type { RawResource } from "./kinds/resource-table.js"
