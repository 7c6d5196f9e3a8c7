// SPDX-License-Identifier: Apache-2.0
// A workload as the mesh sees it, read from a Pod and the Services that select it.

import type { Workload } from "@merlon/policy/selection"
import type { PortSpec, ProbeSpec } from "@merlon/xds"
import type { Enforcer } from "../distribution/ledger.js"
import type { UdpHandling } from "./udp.js"

export interface MeshWorkload extends Workload {
  /** `namespace/name`. */
  readonly key: string
  readonly uid: string
  readonly serviceAccount: string
  /** In the order of their names. */
  readonly services: readonly string[]
  /** The primary one first, then those of the other family; empty as long as none is known. */
  readonly addresses: readonly string[]
  readonly ready: boolean
  /** Whether any of it has been started: a Pod that has not cannot serve. */
  readonly started: boolean
  /** Whether it is being deleted. It may go on serving for as long as its grace period lasts, and longer. */
  readonly leaving: boolean
  /** Uids of the objects that own its Pod, and `Kind/name` of those: whatever deletes them deletes it too. */
  readonly owners: readonly string[]
  /** Whether an xserver stands in front of it. Policies select it either way; only a proxied one enforces them. */
  readonly proxied: boolean
  /** Where its Pod says that it answers gateways. */
  readonly enforcer: Enforcer | undefined
  /** What can bypass that xserver, in one phrase; undefined if nothing can. */
  readonly bypass: string | undefined
  /** In the order of the Pod's containers: `listen` is 15080 for the first. */
  readonly ports: readonly WorkloadPort[]
  /** What it or a Service declares for UDP, which no policy judges, in ascending order. */
  readonly udpPorts: readonly number[]
  readonly udp: UdpHandling
  readonly probes: { readonly [path: string]: ProbeSpec }
}

export interface WorkloadPort extends PortSpec {
  /** The container port's name, which a Service's `targetPort` may use. */
  readonly name: string | undefined
}
