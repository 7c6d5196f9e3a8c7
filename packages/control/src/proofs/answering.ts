// SPDX-License-Identifier: Apache-2.0
// The logic of the proof thread: a copy of the cluster's policies and workloads, and answers from it. A caller can
// cancel a long answer; it then gets partial results, and the rest is reported as not decided.

import { analysis } from "@merlon/policy/analysis"
import type { MeshConfig } from "@merlon/policy/mesh"
import {
  type Assessment,
  assessChange,
  callersAmong,
  certifiedEffect,
  checkInvariants,
  describeViolation,
  isAbout,
  type Limits,
  lastingName,
  type ProofWorkload,
} from "@merlon/policy/proof"
import type { PolicyDocument, PolicyInvariant } from "@merlon/policy/resources"
import { MAX_EVIDENCE, recordedEvidence } from "../history/evidence.js"
import { policyKey } from "../policies/stored-policy.js"
import { askPolicies } from "./ask-policies.js"
import type {
  Answer,
  ClusterChanges,
  EffectQuestion,
  Holds,
  Question,
  RecordedEffect,
  UserAnswer,
  UserQuery,
} from "./question.js"

const STEPS = 5_000_000
const MAX_DOCUMENTS = 500
const MAX_PAIRS = 500_000
export const ADVICE = "`merlonctl analyze` compares it with the other policies, which takes too long here"
const NO_NEWS: Assessment = { rejections: [], warnings: [] }

export class Answering {
  readonly #mesh: MeshConfig
  readonly #documents = new Map<string, PolicyDocument>()
  /** Keys of documents that are being deleted. */
  readonly #leaving = new Set<string>()
  readonly #workloads = new Map<string, ProofWorkload>()

  constructor(mesh: MeshConfig) {
    this.#mesh = mesh
  }

  take({ documents, workloads }: ClusterChanges): void {
    for (const [key, document, isLeaving = false] of documents) {
      set(this.#documents, key, document)
      if (isLeaving && document !== undefined) this.#leaving.add(key)
      else this.#leaving.delete(key)
    }
    for (const [key, workload] of workloads) set(this.#workloads, key, workload)
  }

  /** Calls `isEnded` at least every few milliseconds. */
  answer<Q extends Question>(question: Q, isEnded: () => boolean): Answer<Q>
  answer(question: Question, isEnded: () => boolean): Answer<Question> {
    // For the search, time stands still until the query is cancelled.
    const limits: Limits = { steps: STEPS, deadline: 0, now: () => (isEnded() ? 1 : 0) }
    if (question.ask === "holds") return this.#holds(question.key, limits)
    if (question.ask === "people") return this.#asked(question, limits, isEnded)
    if (question.ask === "effect") return this.#effect(question, limits)
    if (question.ask === "removal") return this.#assessed(question.key, undefined, limits)
    const { after, changed } = question
    const isNews = changed && after.kind !== "MeshService"
    const { rejections, warnings } = isNews ? this.#assessed(keyOf(after), after, limits) : NO_NEWS
    return { rejections, warnings: [...warnings, ...this.#compared(after, isEnded)] }
  }

  #asked(question: UserQuery, limits: Limits, isEnded: () => boolean): UserAnswer {
    const { since } = question
    return askPolicies(question, {
      before: since === undefined ? [...this.#documents.values()] : this.#overlaid(since, true),
      after: this.#overlaid(question, since !== undefined),
      workloads: [...this.#workloads.values()],
      mesh: this.#mesh,
      limits,
      isEnded,
      now: seconds(),
    })
  }

  /** The stored policies, without those in `remove` and with `documents` added or replaced. */
  #overlaid(
    { documents, remove }: Pick<UserQuery, "documents" | "remove">,
    haveAge: boolean,
  ): readonly PolicyDocument[] {
    const after = new Map(this.#documents)
    for (const key of remove) after.delete(key)
    for (const document of documents) {
      const key = keyOf(document)
      // An existing policy keeps its age, which orders PeerAuthentications. A policy of the past has its own.
      const created = haveAge ? undefined : this.#documents.get(key)?.metadata.creationTimestamp
      const metadata = { ...document.metadata, ...(created === undefined ? {} : { creationTimestamp: created }) }
      after.set(key, { ...document, metadata })
    }
    return [...after.values()]
  }

  #effect({ key, before, after }: EffectQuestion, limits: Limits): RecordedEffect {
    const documents = [...this.#documents].flatMap(([name, document]) => (name === key ? [] : [document]))
    const options = { limits, now: seconds(), maxCharacters: MAX_EVIDENCE }
    const workloads = [...this.#workloads.values()]
    const { effect, evidence } = certifiedEffect({ documents, before, after }, workloads, this.#mesh, options)
    return { effect, evidence: recordedEvidence(evidence) }
  }

  /** Assesses a change of the policy with this key; `after` is undefined for a deletion. */
  #assessed(key: string, after: PolicyDocument | undefined, limits: Limits): Assessment {
    // A policy that is being deleted supports no invariant: its last finalizer may be removed at any moment.
    const staying = [...this.#documents].filter(([name]) => !this.#leaving.has(name))
    const documents = staying.map(([, document]) => document)
    const before = this.#leaving.has(key) ? undefined : this.#documents.get(key)
    if (before === undefined && after === undefined) return NO_NEWS
    return assessChange({ documents, before, after }, [...this.#workloads.values()], this.#mesh, {
      limits,
      now: seconds(),
    })
  }

  /** Findings about the document in relation to the other policies. */
  #compared(document: PolicyDocument, isEnded: () => boolean): readonly string[] {
    const key = keyOf(document)
    const { namespace: own } = document.metadata
    const { rootNamespace } = this.#mesh.names
    // Only policies of the same and the root namespace interact with it, so policies of other namespaces cannot
    // suppress this.
    const meets = (namespace: string): boolean => own === rootNamespace || namespace === own
    const others = [...this.#documents.values()].filter(
      one => keyOf(one) !== key && (meets(one.metadata.namespace) || one.metadata.namespace === rootNamespace),
    )
    const workloads = [...this.#workloads.values()].filter(({ namespace }) => meets(namespace))
    // Above this limit a comparison would not finish in time; `merlonctl analyze` does it.
    if (others.length > MAX_DOCUMENTS || others.length * workloads.length > MAX_PAIRS) return []
    const turns = analysis([...others, document], this.#mesh, { workloads })
    for (;;) {
      if (isEnded()) return [ADVICE]
      const { done, value } = turns.next()
      if (!done) continue
      return value
        .filter(
          ({ severity, kind, namespace, name }) => severity !== "info" && policyKey(kind, namespace, name) === key,
        )
        .map(({ path, why, fix }) => `${path === "" ? "" : `${path}: `}${why}; ${fix}`)
    }
  }

  #holds(key: string, limits: Limits): Holds {
    const invariant = this.#documents.get(key)
    const workloads = [...this.#workloads.values()]
    if (invariant?.kind !== "PolicyInvariant" || !workloads.some(one => isAbout(invariant, one, this.#mesh))) {
      // Fail closed: a statement about no workload proves nothing about later ones.
      return { status: "Unknown", reason: "NoWorkloads", message: "it selects no workload" }
    }
    return this.#proved(invariant, workloads, limits)
  }

  #proved(invariant: PolicyInvariant, workloads: readonly ProofWorkload[], limits: Limits): Holds {
    const documents = [...this.#documents.values()]
    const { namespace } = invariant.metadata
    // People of its namespace read its status, so it reveals nothing about workloads in other namespaces.
    const isRoot = namespace === this.#mesh.names.rootNamespace
    const near = isRoot ? workloads : workloads.filter(one => one.namespace === namespace)
    const options = { limits, now: seconds(), callers: callersAmong(near, this.#mesh) }
    const checked = checkInvariants([invariant], documents, workloads, this.#mesh, options)
    const broken = checked.find(({ result }) => result.verdict === "broken")
    if (broken !== undefined) return { status: "False", reason: "Broken", message: describeViolation(broken) }
    const undecided = checked.find(({ result }) => result.verdict === "undecided")
    if (undecided !== undefined)
      return { status: "Unknown", reason: "NotDecided", message: describeViolation(undecided) }
    // Counts workloads and not Pods, whose number changes all the time.
    const about = new Set(workloads.filter(one => isAbout(invariant, one, this.#mesh)).map(lastingName)).size
    if (checked.length === 0) return { status: "Unknown", reason: "NotDecided", message: "it has no rules" }
    const subjects = `${about} ${about === 1 ? "workload" : "workloads"}`
    return { status: "True", reason: "Proved", message: `every rule of the invariant holds for ${subjects} (proved)` }
  }
}

function set<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function keyOf({ kind, metadata }: PolicyDocument): string {
  return policyKey(kind, metadata.namespace, metadata.name)
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
