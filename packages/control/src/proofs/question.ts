// SPDX-License-Identifier: Apache-2.0
// Messages between the control plane and its proof thread: plain values, since they are copied.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { Assessment, ChangeEffect, ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument, StatusCondition } from "@merlon/policy/resources"
import type { DescribedRequest } from "@merlon/policy/trial"
import type { RecordedEvidence } from "../history/evidence.js"

/** Changes of the cluster since the last message; undefined for deleted objects. */
export interface ClusterChanges {
  readonly documents: readonly (readonly [key: string, document: PolicyDocument | undefined, isLeaving?: boolean])[]
  readonly workloads: readonly (readonly [key: string, workload: ProofWorkload | undefined])[]
}

export interface ReviewQuestion {
  readonly ask: "review"
  readonly after: PolicyDocument
  /** Whether it means something else than the stored version; if not, it is only compared with the other policies. */
  readonly changed: boolean
}

/** What deleting a stored policy would change. */
export interface RemovalQuestion {
  readonly ask: "removal"
  /** `Kind/namespace/name`. */
  readonly key: string
  readonly namespace: string
}

export interface HoldsQuestion {
  readonly ask: "holds"
  /** `Kind/namespace/name` of a PolicyInvariant. */
  readonly key: string
}

/** The effect of changing one policy while the others stay the same, for the history. */
export interface EffectQuestion {
  readonly ask: "effect"
  /** `Kind/namespace/name`. */
  readonly key: string
  readonly before: PolicyDocument | undefined
  readonly after: PolicyDocument | undefined
}

export interface RecordedEffect {
  readonly effect: ChangeEffect
  readonly evidence: RecordedEvidence
}

/** A query from the API, already parsed and validated. */
export interface UserQuery {
  readonly ask: "people"
  readonly what: "explanations" | "diffs" | "callers" | "reach" | "analyses" | "suggestions"
  /** Restricts workloads and findings to this namespace. */
  readonly namespace?: string
  /** Added to the stored policies, or replacing them. */
  readonly documents: readonly PolicyDocument[]
  /** `Kind/namespace/name` of stored policies to leave out. */
  readonly remove: readonly string[]
  /** The same for the policies to compare with. */
  readonly since?: { readonly documents: readonly PolicyDocument[]; readonly remove: readonly string[] }
  /** `namespace/name`. */
  readonly workload?: string
  readonly principal?: string
  /** A rule, as policies write it. */
  readonly operation?: object
  readonly request?: DescribedRequest
  /** Recorded calls of the workload, or of the workloads that a change may affect. */
  readonly calls?: readonly ObservedCall[]
  /** Number of recorded calls of the same workloads that are not in `calls`. */
  readonly callsLeftOut?: number
}

/** A plain value, or the error of the query. */
export type UserAnswer = { readonly answer: object } | { readonly error: string }

export type Question = ReviewQuestion | RemovalQuestion | HoldsQuestion | EffectQuestion | UserQuery

/** Whether an invariant holds, in the terms of a condition. */
export interface Holds {
  readonly status: StatusCondition["status"]
  readonly reason: "NoWorkloads" | "Broken" | "NotDecided" | "Proved"
  readonly message: string
}

export type Answer<Q extends Question> = Q extends ReviewQuestion | RemovalQuestion
  ? Assessment
  : Q extends HoldsQuestion
    ? Holds
    : Q extends EffectQuestion
      ? RecordedEffect
      : UserAnswer

/** The worker data of the thread. */
export interface ThreadSetup {
  readonly mesh: MeshConfig
  /** One number: the query to be cancelled. */
  readonly ended: SharedArrayBuffer
}

export type ToThread = { readonly changes: ClusterChanges } | { readonly id: number; readonly question: Question }

export type FromThread =
  | { readonly ready: true }
  | { readonly id: number; readonly answer: Answer<Question> }
  | { readonly id: number; readonly failed: string }
