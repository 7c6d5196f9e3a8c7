// SPDX-License-Identifier: Apache-2.0
// The inputs of a status, as plain values.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument, Status, StatusCondition } from "@merlon/policy/resources"
import type { Loser } from "@merlon/policy/selection"
import type { KeySetState } from "../keysets/key-sets.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { EnforcementCount } from "./enforcement.js"

export interface Reach {
  readonly workloads: number
  /** Keys of members of the mesh that run without an xserver in front of them. */
  readonly unproxied: readonly string[]
  /**
   * Keys of running workloads outside the mesh: nothing enforces the policy there, and no label says that this is
   * intended.
   */
  readonly outside: readonly string[]
  /** Running workloads whose xserver can be bypassed. */
  readonly bypassable: readonly { readonly workload: string; readonly because: string }[]
  /** Those behind an xserver that declare UDP ports. */
  readonly udp: readonly Pick<MeshWorkload, "key" | "udpPorts" | "udp">[]
  /** Number of workloads that have not started: they cannot serve, so the status does not wait for them. */
  readonly pending: number
  /** Where none is selected: the labels of the nearest workload. */
  readonly nearest: string | undefined
  /** Where none is selected: what leads nowhere, where it is not the selector. */
  readonly missing: readonly string[]
  /** For a policy that names targets: those without workloads. */
  readonly targets: Targets
}

export interface Targets {
  /** There is none of that name. */
  readonly absent: readonly string[]
  /** Services without a selector, so the workloads behind them are unknown. */
  readonly blind: readonly string[]
  /** Services whose selector selects no workload. */
  readonly empty: readonly string[]
  /** Gateways and routes for which no workload decides, and the label that says that one does. */
  readonly unserved: readonly { readonly target: string; readonly label: string }[]
}

export interface Supersession {
  readonly loser: Loser
  /** On how many of the workloads it selects. */
  readonly workloads: number
}

export interface GovernedHost {
  readonly host: string
  /** `namespace/name` of the MeshService. */
  readonly by: string
}

/** Clients that ask for the hosts of a MeshService. */
export interface ClientCount {
  readonly clients: number
  readonly acknowledged: number
  readonly waiting: readonly string[]
  readonly rejection: { readonly client: string; readonly message: string } | undefined
}

export interface ConditionInputs {
  /** As stored, where it is valid. */
  readonly document: PolicyDocument | undefined
  readonly kind: PolicyDocument["kind"]
  readonly namespace: string
  readonly generation: number | undefined
  /** What is wrong with it, one sentence each; empty for a valid one. */
  readonly errors: readonly string[]
  readonly mesh: MeshConfig
  readonly reach: Reach
  readonly enforcement: EnforcementCount
  /** Of a MeshService. */
  readonly clients: ClientCount | undefined
  /** Of a MeshService: its hosts, as it spells them, of other namespaces, where it speaks to its own callers alone. */
  readonly guestHosts: readonly string[]
  /** Of a MeshService: its hosts, as it spells them, that another one governs. */
  readonly governedByOthers: readonly GovernedHost[]
  /** Of a RequestAuthentication: its issuers whose keys are fetched, and how many rules bring their own. */
  readonly keySets: readonly { readonly issuer: string; readonly state: KeySetState | undefined }[]
  readonly inlineKeySets: number
  /** Of a PeerAuthentication. */
  readonly superseded: Supersession | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly previous: Status | undefined
}

/** One condition in plain words. */
export interface Said {
  readonly status: StatusCondition["status"]
  readonly reason: string
  readonly message: string
}
