// SPDX-License-Identifier: Apache-2.0
// The order in which changed types are sent, as Envoy's ADS documentation requires: a referenced resource before the
// one that refers to it, or requests would fail in between.

const ORDER = [
  "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  "type.googleapis.com/envoy.config.listener.v3.Listener",
  "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
]

/** Types whose state-of-the-world responses are always complete: missing resources do not exist. */
const COMPLETE = new Set([ORDER[0], ORDER[2]])

export function typeRank(typeUrl: string): number {
  const index = ORDER.indexOf(typeUrl)
  return index === -1 ? ORDER.length : index
}

export function isCompleteType(typeUrl: string): boolean {
  return COMPLETE.has(typeUrl)
}
