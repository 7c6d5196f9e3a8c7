// SPDX-License-Identifier: Apache-2.0
// How callers reach a host and port, with MeshServices and Services resolved: what encoders turn into xDS and what
// xclient prints. Plain values without references.

import type { ClientTlsMode, RouteMatch } from "@merlon/policy/resources"
import type { EffectiveMode } from "@merlon/policy/selection"
import type { ClusterTraffic, RouteTraffic } from "./traffic.js"

export interface RouteTable {
  /** As callers address it. */
  readonly host: string
  readonly port: number
  /** Other spellings of the host: `web`, `web.app`, `web.app.svc`. */
  readonly aliases: readonly string[]
  /** Tried in order; the last one has no match, unless a MeshService routes nothing else. */
  readonly routes: readonly WeightedRoute[]
}

export interface WeightedRoute extends RouteTraffic {
  /** Any of them; empty means every request. None names a port: the table's port has settled that. */
  readonly match: readonly RouteMatch[]
  readonly destinations: readonly WeightedDestination[]
}

export interface WeightedDestination {
  /** Name of the cluster: `outbound|<port>|<subset>|<host>`, and `|<namespace>` where a guest leads there. */
  readonly cluster: string
  /** 0 drains. Weights are shares of their sum. */
  readonly weight: number
}

export interface ServiceCluster {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly subset: string
  /** What a MeshService says; undefined where none does and callers follow what the endpoints accept. */
  readonly tlsMode: ClientTlsMode | undefined
  /** What callers send as SNI under DUBBO_MUTUAL. */
  readonly sni: string
  /** SPIFFE ids of the workloads behind it: who may answer. */
  readonly identities: readonly string[]
  /** Sorted by address and port. */
  readonly endpoints: readonly ServiceEndpoint[]
  /** What a MeshService says of balancing, limits and ejection; absent where none does. */
  readonly traffic?: ClusterTraffic
}

export interface ServiceEndpoint {
  readonly address: string
  /** Where the same workload is reached as well, to be tried after the first; absent where there is no other. */
  readonly otherAddresses?: readonly string[]
  /** The xserver's port where one stands in front, else the workload's own. */
  readonly port: number
  readonly healthy: boolean
  readonly workload: string
  /** What the workload's port accepts; undefined where no xserver enforces anything. */
  readonly mtlsMode: EffectiveMode | undefined
}

/** The parts of a cluster's name. Port 0 stands for a port that the Service does not have. */
export interface ClusterKey {
  readonly port: number
  readonly subset: string
  readonly host: string
  /** The namespace whose MeshServices are heard beside those that govern the host: what it says counts here alone. */
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
