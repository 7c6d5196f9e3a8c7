// SPDX-License-Identifier: Apache-2.0
// The messages between the control plane and its proof thread: plain values, since they are copied.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { Assessment, ChangeEffect, ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument, StatusCondition } from "@merlon/policy/resources"
import type { AskedRequest } from "@merlon/policy/trial"

/** What is in the cluster, as far as it changed since the last time; undefined for what is gone. */
export interface News {
  readonly documents: readonly (readonly [key: string, document: PolicyDocument | undefined, isLeaving?: boolean])[]
  readonly workloads: readonly (readonly [key: string, workload: ProofWorkload | undefined])[]
}

export interface ReviewQuestion {
  readonly ask: "review"
  readonly after: PolicyDocument
  /** Whether it means something else than what is stored; else it is only compared with its neighbours. */
  readonly changed: boolean
}

/** What would come of it if a stored policy were gone. */
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

/** What a change of one policy does beside the others as they are, for the history. */
export interface EffectQuestion {
  readonly ask: "effect"
  /** `Kind/namespace/name`. */
  readonly key: string
  readonly before: PolicyDocument | undefined
  readonly after: PolicyDocument | undefined
}

/** A question from the API, read and validated before it comes here. */
export interface PeopleQuestion {
  readonly ask: "people"
  readonly what: "explanations" | "diffs" | "callers" | "reach" | "analyses" | "suggestions"
  /** Where workloads and findings are to be of one. */
  readonly namespace?: string
  /** Laid over what is stored. */
  readonly documents: readonly PolicyDocument[]
  /** `Kind/namespace/name` of stored ones to leave out. */
  readonly remove: readonly string[]
  /** The same for the policies that these are compared with. */
  readonly since?: { readonly documents: readonly PolicyDocument[]; readonly remove: readonly string[] }
  /** `namespace/name`. */
  readonly workload?: string
  readonly principal?: string
  /** A rule, as policies write it. */
  readonly operation?: object
  readonly request?: AskedRequest
  /** Recorded ones of the workload, or of those that a change may touch. */
  readonly calls?: readonly ObservedCall[]
  /** How many recorded calls of the same policies are not in `calls`. */
  readonly callsLeftOut?: number
}

/** A plain value, or what is wrong with the question. */
export type PeopleAnswer = { readonly answer: object } | { readonly error: string }

export type Question = ReviewQuestion | RemovalQuestion | HoldsQuestion | EffectQuestion | PeopleQuestion

/** Whether an invariant holds, in the words of a condition. */
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
      ? ChangeEffect
      : PeopleAnswer

/** What the thread is started with. */
export interface ThreadSetup {
  readonly mesh: MeshConfig
  /** One number: the question that is to be ended, whatever it has come to. */
  readonly ended: SharedArrayBuffer
}

export type ToThread = { readonly news: News } | { readonly id: number; readonly question: Question }

export type FromThread =
  | { readonly ready: true }
  | { readonly id: number; readonly answer: Answer<Question> }
  | { readonly id: number; readonly failed: string }
