// SPDX-License-Identifier: Apache-2.0
// Maintains the status of PolicyInvariants: after policies or workloads change, every invariant is checked again, one
// at a time and outside the event loop. Only the leader writes.

import type { MeshConfig } from "@merlon/policy/mesh"
import { describe, type PolicyInvariant, type Status, type StatusCondition } from "@merlon/policy/resources"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, policyTypes } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { oneLine } from "../observe/one-line.js"
import type { PolicySource, StoredPolicy } from "../policies/stored-policy.js"
import type { Prover } from "../proofs/prover.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"

export interface InvariantStatusOptions {
  readonly client: Pick<KubernetesClient, "patch">
  readonly policies: PolicySource
  readonly directory: Pick<MeshDirectory, "onChange">
  readonly prover: Pick<Prover, "holds">
  readonly mesh: MeshConfig
  /** Resolves once policies and registry contain everything stored. */
  readonly ready: Promise<unknown>
  readonly isLeader: () => boolean
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

const SETTLE_MS = 500
/** An undecided result may be due to a busy thread: it is retried with doubling delays. */
const RETRY_MS = 5_000
const MAX_TRIES = 6

export class InvariantStatus {
  readonly #options: InvariantStatusOptions
  readonly #clock: Clock
  readonly #stops: (() => void)[]
  readonly #waiting = new Set<string>()
  /** How often an undecided invariant was checked since the last change, and how to cancel the next check. */
  readonly #tries = new Map<string, { readonly count: number; readonly cancel: () => void }>()
  #cancel: (() => void) | undefined
  #ready = false

  constructor(options: InvariantStatusOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#stops = [options.policies.onChange(() => this.#changed()), options.directory.onChange(() => this.#changed())]
    options.ready.then(
      () => {
        this.#ready = true
        this.#changed()
      },
      // The other user of the same promise reports the error.
      () => undefined,
    )
  }

  leadershipChanged(): void {
    this.#changed()
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#cancel?.()
    this.#waiting.clear()
    this.#forgetTries()
  }

  /** Checks all invariants again once changes pause for a moment; each change may affect any of them. */
  #changed(): void {
    if (!this.#ready || !this.#options.isLeader()) return
    this.#forgetTries()
    for (const [key, { kind }] of this.#options.policies.items) if (kind === "PolicyInvariant") this.#waiting.add(key)
    if (this.#waiting.size > 0) this.#cancel ??= this.#clock.after(SETTLE_MS, () => void this.#next())
  }

  async #next(): Promise<void> {
    this.#cancel = undefined
    const [key] = this.#waiting
    if (key === undefined || !this.#options.isLeader()) return
    this.#waiting.delete(key)
    const stored = this.#options.policies.items.get(key)
    try {
      if (stored !== undefined && stored.deleted === undefined) await this.#write(stored)
    } catch (error) {
      // The invariant was deleted or changed; that change triggers another check.
      const expected = error instanceof ApiError && [404, 409, 422].includes(error.code)
      if (!expected) this.#options.warn(`the status of \`${key}\` could not be written: ${String(error)}`)
    }
    if (this.#waiting.size > 0) this.#cancel ??= this.#clock.after(0, () => void this.#next())
  }

  async #write({ key, object, written, namespace, name, errors }: StoredPolicy): Promise<void> {
    const { client, mesh } = this.#options
    const previous = statusOf(object)
    const invariant = written?.kind === "PolicyInvariant" ? written : undefined
    const holds = invariant && (await this.#holds(key, invariant))
    if (holds === "later") return void this.#waiting.add(key)
    if (holds?.[2] === NOT_DECIDED) this.#tryAgain(key)
    const rows: readonly ConditionRow[] =
      invariant === undefined || holds === undefined
        ? [["Accepted", "False", "Invalid", errors[0]?.message ?? "the document cannot be read"]]
        : [["Accepted", "True", "Valid", describe(invariant, mesh)], holds]
    const { generation } = object.metadata
    const conditions = rows.map(words => conditionOf(words, generation, previous, this.#clock.now()))
    const foreign = (previous?.conditions ?? []).filter(({ type }) => type !== "Accepted" && type !== "Holds")
    const status: Status = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      conditions: [...conditions, ...foreign],
    }
    if (JSON.stringify(status) === JSON.stringify(previous)) return
    const patch = [
      ...(generation === undefined ? [] : [{ op: "test", path: "/metadata/generation", value: generation }]),
      { op: "add", path: "/status", value: status },
    ]
    await client.patch(policyTypes(mesh.names).PolicyInvariant, name, patch, {
      namespace,
      subresource: "status",
      type: "json",
    })
  }

  async #holds(key: string, { metadata }: PolicyInvariant): Promise<ConditionRow | "later"> {
    const answer = await this.#options.prover.holds({ ask: "holds", key }, metadata.namespace)
    if (!("notDecided" in answer)) return ["Holds", answer.status, answer.reason, answer.message]
    return answer.gaveWay ? "later" : ["Holds", "Unknown", NOT_DECIDED, answer.notDecided]
  }

  #tryAgain(key: string): void {
    const { count = 0, cancel } = this.#tries.get(key) ?? {}
    cancel?.()
    if (count >= MAX_TRIES) return
    const again = this.#clock.after(RETRY_MS * 2 ** count, () => {
      this.#waiting.add(key)
      this.#cancel ??= this.#clock.after(0, () => void this.#next())
    })
    this.#tries.set(key, { count: count + 1, cancel: again })
  }

  #forgetTries(): void {
    for (const { cancel } of this.#tries.values()) cancel()
    this.#tries.clear()
  }
}

const NOT_DECIDED = "NotDecided"

type ConditionRow = readonly [type: string, status: StatusCondition["status"], reason: string, message: string]

function conditionOf(
  [type, status, reason, message]: ConditionRow,
  generation: number | undefined,
  previous: Status | undefined,
  now: number,
): StatusCondition {
  const before = previous?.conditions?.find(condition => condition.type === type)
  return {
    type,
    status,
    reason,
    message: oneLine(message, 1_000),
    lastTransitionTime:
      before?.status === status ? before.lastTransitionTime : `${new Date(now).toISOString().slice(0, 19)}Z`,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  }
}

/** Other clients can write statuses too, so conditions in another format are ignored. */
function statusOf({ status }: KubernetesObject): Status | undefined {
  if (typeof status !== "object" || status === null || !("conditions" in status)) return undefined
  return Array.isArray(status.conditions) ? (status as Status) : undefined // validated by the server
}
