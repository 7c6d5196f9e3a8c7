// SPDX-License-Identifier: Apache-2.0
// How callers reach a host and port, with MeshServices and Services resolved: what encoders turn into xDS and what
// xclient prints. Plain values without references.

import type { ClientTlsMode, RouteMatch } from "@merlon/policy/resources"
import type { EffectiveMode } from "@merlon/policy/selection"
import type { ClusterTraffic, RouteTraffic } from "./traffic.js"

export interface RouteTable {
  /** The host name that callers use. */
  readonly host: string
  readonly port: number
  /** Other names of the host: `web`, `web.app`, `web.app.svc`. */
  readonly aliases: readonly string[]
  /** Tried in order. The last one matches everything, unless a MeshService sends other requests nowhere. */
  readonly routes: readonly WeightedRoute[]
}

export interface WeightedRoute extends RouteTraffic {
  /** Alternatives; empty means every request. None names a port, because the table is for one port. */
  readonly match: readonly RouteMatch[]
  readonly destinations: readonly WeightedDestination[]
}

export interface WeightedDestination {
  /** Name of the cluster: `outbound|<port>|<subset>|<host>`, followed by `|<namespace>` for a guest. */
  readonly cluster: string
  /** 0 drains the cluster. Weights are shares of their sum. */
  readonly weight: number
}

export interface ServiceCluster {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly subset: string
  /** The mode of a MeshService; undefined if none sets it, and callers follow what the endpoints accept. */
  readonly tlsMode: ClientTlsMode | undefined
  /** The SNI that callers send under DUBBO_MUTUAL. */
  readonly sni: string
  /** SPIFFE ids of the workloads behind it, which callers accept as server identities. */
  readonly identities: readonly string[]
  /** Sorted by address and port. */
  readonly endpoints: readonly ServiceEndpoint[]
  /** Load balancing, limits and outlier detection of a MeshService; absent if none sets them. */
  readonly traffic?: ClusterTraffic
}

export interface ServiceEndpoint {
  readonly address: string
  /** Other addresses of the same workload, tried after the first; absent if there are none. */
  readonly otherAddresses?: readonly string[]
  /** The port of xserver if the workload has one, otherwise the workload's own. */
  readonly port: number
  readonly healthy: boolean
  readonly workload: string
  /** The mTLS mode of the workload's port; undefined if no xserver enforces any. */
  readonly mtlsMode: EffectiveMode | undefined
}

/** The parts of a cluster's name. Port 0 means a port that the Service does not have. */
export interface ClusterKey {
  readonly port: number
  readonly subset: string
  readonly host: string
  /** A namespace whose MeshServices apply to its own callers, besides those that govern the host. */
  readonly guest?: string
}

export function clusterName({ port, subset, host, guest }: ClusterKey): string {
  return `outbound|${port}|${subset}|${host}${guest === undefined ? "" : `|${guest}`}`
}

const CLUSTER_NAME =
  /^outbound\|(0|[1-9]\d{0,4})\|([^|]{0,253})\|([^|]{1,253})(?:\|([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?))?$/

export function parseClusterName(name: string): ClusterKey | undefined {
  const [, port, subset, host, guest] = CLUSTER_NAME.exec(name) ?? []
  if (port === undefined || subset === undefined || host === undefined || Number(port) > 65_535) return undefined
  return { port: Number(port), subset, host, ...(guest === undefined ? {} : { guest }) }
}
