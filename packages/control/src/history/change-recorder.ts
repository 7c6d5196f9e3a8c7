// SPDX-License-Identifier: Apache-2.0
// Records who changed which policy. Admission knows the user, but not whether the change will be stored. The local copy
// of the cluster shows what was stored, but not by whom. The replica that reviewed the change writes an entry once it
// has seen both, after the review was answered. So recording cannot delay an apply, and a dry run leaves no entry.

import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS, type PolicyDocument } from "@merlon/policy/resources"
import { messageOf } from "@merlon/xds/runtime"
import type { AdmissionRequest } from "../admission/review.js"
import type { Clock } from "../observe/clock.js"
import { isSecurityKind, type PolicyChange, type PolicySource, policyKey } from "../policies/stored-policy.js"
import type { Prover } from "../proofs/prover.js"
import type { RecordedEffect } from "../proofs/question.js"
import { objectOf, textOf } from "../registry/foreign.js"
import type { ChangeFacts } from "./chain.js"
import type { HistoryStore } from "./history-store.js"
import type { RecordedChange } from "./namespace-history.js"
import { bodyDigest, bodyOf, contentDigest, documentOf } from "./policy-body.js"

export interface ChangeRecorderOptions {
  readonly names: MeshNames
  readonly policies: Pick<PolicySource, "onChange">
  readonly prover: Pick<Prover, "effect">
  readonly store: Pick<HistoryStore, "append" | "maxEntries">
  readonly clock: Clock
  readonly warn: (message: string) => void
}

/** A change that admission allowed, and that may be stored in a moment. */
interface Admitted {
  readonly key: string
  readonly user: string
  /** Body of the document before the change. */
  readonly before: string | undefined
  /** `contentDigest` of the document to be stored; undefined for a deletion. */
  readonly content: string | undefined
  readonly at: number
}

type StoredFacts = Omit<ChangeFacts, "difference" | "certificate">

interface Waiting {
  readonly changes: RecordedChange[]
  attempts: number
  isWriting: boolean
}

/** If a change is not stored by then, the API server or another webhook has rejected it. */
const STORED_WITHIN_MS = 30_000
/** With finalizers, a deletion may take a long time. */
const DELETED_WITHIN_MS = 600_000
const MAX_ADMITTED = 2_000
const RETRY_MS = 5_000
const ATTEMPTS = 12
const LEAVE_MS = 3_000

export class ChangeRecorder {
  readonly #options: ChangeRecorderOptions
  /** In the order of admission. */
  readonly #admitted = new Set<Admitted>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #recording = new Set<Promise<void>>()
  readonly #stop: () => void
  readonly #timers = new Set<() => void>()
  #stopped = false

  constructor(options: ChangeRecorderOptions) {
    this.#options = options
    this.#stop = options.policies.onChange(change => this.#observed(change))
  }

  /** Called with an allowed change before admission answers. */
  admitted({ operation, kind, namespace, name, user, dryRun, subresource, object, oldObject }: AdmissionRequest): void {
    const { names, clock } = this.#options
    if (dryRun || subresource !== "" || operation === "CONNECT" || !isRecorded(kind)) return
    const { name: written } = objectOf(objectOf(operation === "DELETE" ? oldObject : object).metadata)
    const key = policyKey(kind, namespace, name || (textOf(written) ?? ""))
    const content = operation === "DELETE" ? undefined : contentDigest(object, names)
    // Most updates only change the status, a label or a finalizer.
    if (operation === "UPDATE" && content === contentDigest(oldObject, names)) return
    const before = operation === "CREATE" ? undefined : bodyOf(oldObject, names)
    this.#forgetOld()
    this.#admitted.add({ key, user, before, content, at: clock.monotonic() })
  }

  /** Finishes pending writes within a limit: an API that does not answer must not delay the end of the program. */
  async stop(): Promise<void> {
    this.#stop()
    this.#stopped = true
    for (const cancel of this.#timers) cancel()
    const finished = Promise.all([...this.#recording, ...[...this.#waiting.keys()].map(one => this.#write(one))])
    let cancel = (): void => {}
    const enough = new Promise<void>(resolve => {
      cancel = this.#options.clock.after(LEAVE_MS, resolve)
    })
    await Promise.race([finished, enough])
    cancel()
  }

  #forgetOld(): void {
    const now = this.#options.clock.monotonic()
    for (const one of this.#admitted) {
      const isOver = now - one.at > (one.content === undefined ? DELETED_WITHIN_MS : STORED_WITHIN_MS)
      if (isOver || this.#admitted.size >= MAX_ADMITTED) this.#admitted.delete(one)
    }
  }

  #observed({ before, after }: PolicyChange): void {
    const { names, clock } = this.#options
    const policy = after ?? before
    if (policy === undefined || this.#admitted.size === 0) return
    this.#forgetOld()
    const isGone = after === undefined || after.deleted !== undefined
    const content = isGone ? undefined : contentDigest(after.object, names)
    const matching = [...this.#admitted].filter(one => one.key === policy.key && one.content === content)
    const [first] = matching
    if (first === undefined) return
    // Only a status or a label was written. An API server admits a create before it finds that the policy exists, so
    // the admitted create did not cause this version.
    const isSame = before !== undefined && before.deleted === undefined && content !== undefined
    if (isSame && contentDigest(before.object, names) === content) return
    for (const one of matching) this.#admitted.delete(one)
    const users = new Set(matching.map(({ user }) => user))
    const { kind, namespace, name, object } = policy
    const facts = {
      time: new Date(clock.now()).toISOString(),
      // If two users ask for the same change at once, the stored object does not show which of them made it.
      ...(users.size === 1 ? { user: first.user } : {}),
      operation: isGone ? ("delete" as const) : first.before === undefined ? ("create" as const) : ("update" as const),
      kind,
      namespace,
      name,
      uid: object.metadata.uid ?? "",
      generation: Number(object.metadata.generation ?? 0),
      ...(first.before === undefined ? {} : { before: bodyDigest(first.before) }),
      ...(isGone ? {} : { after: bodyDigest(bodyOf(object, names)) }),
    }
    const recording = this.#record(facts, first.before, isGone ? undefined : bodyOf(object, names))
    this.#recording.add(recording)
    void recording.finally(() => this.#recording.delete(recording))
  }

  async #record(facts: StoredFacts, before: string | undefined, after: string | undefined): Promise<void> {
    const { effect: difference, evidence } = await this.#effect(facts, before, after).catch((error: unknown) =>
      undecided(messageOf(error)),
    )
    const { namespace } = facts
    const waiting = this.#waiting.get(namespace) ?? { changes: [], attempts: 0, isWriting: false }
    this.#waiting.set(namespace, waiting)
    waiting.changes.push({
      facts: { ...facts, difference, certificate: evidence.note },
      body: before,
      evidence: evidence.packed,
    })
    // The history would drop further changes anyway.
    if (waiting.changes.length > this.#options.store.maxEntries) waiting.changes.shift()
    await this.#write(namespace)
  }

  async #effect(
    { kind, namespace, name }: StoredFacts,
    before: string | undefined,
    after: string | undefined,
  ): Promise<RecordedEffect> {
    const { names, prover } = this.#options
    const [was, is] = [before, after].map(body => (body === undefined ? undefined : documentOf(body, names)))
    const isUnread = (body: string | undefined, document: PolicyDocument | undefined): boolean =>
      body !== undefined && document === undefined
    if (isUnread(before, was) || isUnread(after, is))
      return undecided("the stored document could not be read as a policy")
    const key = policyKey(kind, namespace, name)
    const answer = await prover.effect({ ask: "effect", key, before: was, after: is }, namespace)
    return "notDecided" in answer ? undecided(answer.notDecided) : answer
  }

  /** Never throws: what cannot be written is logged and retried. */
  async #write(namespace: string): Promise<void> {
    const { store, warn } = this.#options
    const waiting = this.#waiting.get(namespace)
    if (waiting === undefined || waiting.isWriting) return
    waiting.isWriting = true
    while (waiting.changes.length > 0) {
      const changes = waiting.changes.splice(0)
      try {
        await store.append(namespace, changes)
        waiting.attempts = 0
      } catch (error) {
        waiting.attempts++
        const isLast = this.#stopped || waiting.attempts >= ATTEMPTS
        const next = isLast ? "they will be missing" : "retrying"
        warn(`the history of namespace \`${namespace}\` lacks ${changes.length} changes: ${messageOf(error)}; ${next}`)
        if (isLast) continue
        waiting.changes.unshift(...changes)
        waiting.isWriting = false
        this.#later(() => void this.#write(namespace))
        return
      }
    }
    this.#waiting.delete(namespace)
  }

  #later(action: () => void): void {
    const cancel = this.#options.clock.after(RETRY_MS, () => {
      this.#timers.delete(cancel)
      action()
    })
    this.#timers.add(cancel)
  }
}

function isRecorded(kind: string): boolean {
  return KINDS.some(one => one.kind === kind && isSecurityKind(one.kind))
}

function undecided(reason: string): RecordedEffect {
  const note = { missing: "the difference is not decided" }
  return { effect: { allowed: [], denied: [], undecided: reason }, evidence: { note } }
}
