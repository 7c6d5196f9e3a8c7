// SPDX-License-Identifier: Apache-2.0
// The inputs of a status, as plain values.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument, Status, StatusCondition } from "@merlon/policy/resources"
import type { OverriddenPolicy } from "@merlon/policy/selection"
import type { KeySetState } from "../keysets/key-sets.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { EnforcementCount } from "./enforcement.js"

export interface Reach {
  readonly workloads: number
  /** Keys of mesh members without an xserver for their inbound connections. */
  readonly unproxied: readonly string[]
  /**
   * Keys of running workloads outside the mesh: nothing enforces the policy there, and no label says that this is
   * intended.
   */
  readonly outside: readonly string[]
  /** Running workloads whose xserver can be bypassed. */
  readonly bypassable: readonly { readonly workload: string; readonly because: string }[]
  /** Workloads behind an xserver that declare UDP ports. */
  readonly udp: readonly Pick<MeshWorkload, "key" | "udpPorts" | "udp">[]
  /** Number of workloads that have not started: they cannot serve, so the status does not wait for them. */
  readonly pending: number
  /** If no workload is selected: the labels of the nearest workload. */
  readonly nearest: string | undefined
  /** If no workload is selected: destinations and hosts without workloads. */
  readonly missing: readonly string[]
  /** For a policy that names targets: the targets without workloads. */
  readonly targets: Targets
}

export interface Targets {
  /** Services that do not exist. */
  readonly absent: readonly string[]
  /** Services without a selector, so the workloads behind them are unknown. */
  readonly blind: readonly string[]
  /** Services whose selector selects no workload. */
  readonly empty: readonly string[]
  /** Gateways and routes without an authorizer, and the label that assigns one. */
  readonly unserved: readonly { readonly target: string; readonly label: string }[]
}

export interface Supersession {
  readonly overridden: OverriddenPolicy
  /** Number of selected workloads on which it is superseded. */
  readonly workloads: number
}

export interface GovernedHost {
  readonly host: string
  /** `namespace/name` of the MeshService. */
  readonly by: string
}

/** Clients that request the hosts of a MeshService. */
export interface ClientCount {
  readonly clients: number
  readonly acknowledged: number
  readonly waiting: readonly string[]
  readonly rejection: { readonly client: string; readonly message: string } | undefined
}

export interface ConditionInputs {
  /** The stored document, if it is valid. */
  readonly document: PolicyDocument | undefined
  readonly kind: PolicyDocument["kind"]
  readonly namespace: string
  readonly generation: number | undefined
  /** Errors of the document, one sentence each; empty if it is valid. */
  readonly errors: readonly string[]
  readonly mesh: MeshConfig
  readonly reach: Reach
  readonly enforcement: EnforcementCount
  /** For a MeshService. */
  readonly clients: ClientCount | undefined
  /**
   * For a MeshService: its hosts in other namespaces, as it spells them, which it configures only for its own callers.
   */
  readonly guestHosts: readonly string[]
  /** For a MeshService: its hosts, as it spells them, that another one governs. */
  readonly governedByOthers: readonly GovernedHost[]
  /** For a RequestAuthentication: issuers whose keys are fetched, and below, the number of rules with inline keys. */
  readonly keySets: readonly { readonly issuer: string; readonly state: KeySetState | undefined }[]
  readonly inlineKeySets: number
  /** For a PeerAuthentication. */
  readonly superseded: Supersession | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly previous: Status | undefined
}

/** One condition without its type. */
export interface ConditionValue {
  readonly status: StatusCondition["status"]
  readonly reason: string
  readonly message: string
}
