// SPDX-License-Identifier: Apache-2.0
// A workload in the mesh, read from a Pod and the Services that select it.

import type { Workload } from "@merlon/policy/selection"
import type { PortSpec, ProbeSpec } from "@merlon/xds"
import type { Enforcer } from "../distribution/ledger.js"
import type { UdpHandling } from "./udp.js"

export interface MeshWorkload extends Workload {
  /** `namespace/name`. */
  readonly key: string
  readonly uid: string
  readonly serviceAccount: string
  /** Sorted by name. */
  readonly services: readonly string[]
  /** The primary address first, then that of the other family; empty until an address is known. */
  readonly addresses: readonly string[]
  readonly ready: boolean
  /** Whether any container has been started: before that, a Pod cannot serve. */
  readonly started: boolean
  /** Whether it is being deleted. It may keep serving for its grace period, and longer. */
  readonly leaving: boolean
  /** Uids of the objects that own its Pod, and their `Kind/name`: deleting one of them deletes the workload too. */
  readonly owners: readonly string[]
  /**
   * Whether an xserver handles its inbound connections. Policies select it either way; only with a proxy they are
   * enforced.
   */
  readonly proxied: boolean
  /** `authorizer` if the Pod declares that it answers gateways. */
  readonly enforcer: Enforcer | undefined
  /** What can bypass that xserver, in one phrase; undefined if nothing can. */
  readonly bypass: string | undefined
  /** In the order of the Pod's containers: `listen` is 15080 for the first port. */
  readonly ports: readonly WorkloadPort[]
  /** UDP ports that it or a Service declares, which no policy covers, in ascending order. */
  readonly udpPorts: readonly number[]
  readonly udp: UdpHandling
  readonly probes: { readonly [path: string]: ProbeSpec }
}

export interface WorkloadPort extends PortSpec {
  /** The container port's name, which a Service's `targetPort` may use. */
  readonly name: string | undefined
}
