// SPDX-License-Identifier: Apache-2.0
// How callers reach a host and port, with MeshServices and Services resolved: what encoders turn into xDS and what
// xclient prints. Plain values, no look-ups left.

import type { ClientTlsMode, RouteMatch } from "@merlon/policy"

export interface RouteTable {
  /** As callers address it. */
  readonly host: string
  readonly port: number
  /** Other spellings of the host: `web`, `web.app`, `web.app.svc`. */
  readonly aliases: readonly string[]
  /** Tried in order; the last one has no match, unless a MeshService routes nothing else. */
  readonly routes: readonly WeightedRoute[]
}

export interface WeightedRoute {
  /** Any of them; empty means every request. */
  readonly match: readonly RouteMatch[]
  readonly destinations: readonly WeightedDestination[]
}

export interface WeightedDestination {
  /** Name of the cluster: `outbound|<port>|<subset>|<host>`. */
  readonly cluster: string
  /** 0 drains. Weights are shares of their sum. */
  readonly weight: number
}

export interface ServiceCluster {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly subset: string
  readonly tlsMode: ClientTlsMode | undefined
  /** What callers send as SNI under DUBBO_MUTUAL. */
  readonly sni: string
  /** SPIFFE ids of the workloads behind it: who may answer. */
  readonly identities: readonly string[]
  readonly endpoints: readonly ServiceEndpoint[]
}

export interface ServiceEndpoint {
  readonly address: string
  /** The xserver's port where one stands in front, else the workload's own. */
  readonly port: number
  readonly healthy: boolean
  readonly workload: string
  /** What the workload's port accepts; undefined where no xserver enforces anything. */
  readonly mtlsMode: "DISABLE" | "PERMISSIVE" | "STRICT" | undefined
}
