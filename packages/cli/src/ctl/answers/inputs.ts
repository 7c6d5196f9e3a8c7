// SPDX-License-Identifier: Apache-2.0
// The inputs of an answer. One rule holds for all commands that answer questions about policies: the answer states how
// many policies and workloads it read and what it skipped. If it skipped anything that could matter, or read nothing,
// it claims no proof and the command exits with 4.

import type { Workload } from "@merlon/policy/selection"
import { EXIT } from "../exit.js"
import { visible } from "../terminal.js"

/** The field `read` of reports. */
export interface Inputs {
  readonly policies: number
  readonly workloads: number
  /** Skipped inputs that could have changed the answer, each with the reason. Empty if nothing was skipped. */
  readonly skipped: readonly string[]
}

/** Whether something that was skipped can change what the workload's proxy decides. */
export type Scope = (workload: Workload, rootNamespace: string) => boolean

/** Collects what is skipped while inputs are read. */
export class InputLog {
  readonly #skipped = new Set<string>()
  readonly #scopes = new Map<string, Scope>()
  readonly #missed = new Set<string>()

  /** `scope`: the workloads that it could affect; absent for all. */
  skip(what: string, scope?: Scope): void {
    if (scope === undefined) this.#scopes.delete(what)
    else if (!this.#skipped.has(what)) this.#scopes.set(what, scope)
    this.#skipped.add(what)
  }

  /** Logs a workload that is missing from the inputs: answers about all workloads are incomplete without it. */
  miss(what: string): void {
    this.#missed.add(what)
  }

  /** Notes missing workloads instead of skipping them, for an answer about named workloads that were found. */
  noteMissed(note: (text: string) => void): void {
    for (const what of this.#missed) note(what)
    this.#missed.clear()
  }

  /** Adds the entries of another log. */
  add(other: InputLog): void {
    for (const what of other.#missed) this.miss(what)
    for (const what of other.#skipped) this.skip(what, other.#scopes.get(what))
  }

  /** Notes skipped inputs that cannot affect any of these workloads, instead of counting them as skipped. */
  limitTo(workloads: readonly Workload[], rootNamespace: string, note: (text: string) => void): void {
    if (workloads.length === 0) return
    for (const [what, scope] of this.#scopes) {
      if (workloads.some(workload => scope(workload, rootNamespace))) continue
      this.#skipped.delete(what)
      note(`${what}; it is about none of the workloads that were read`)
    }
  }

  of(policies: number, workloads: number): Inputs {
    return { policies, workloads, skipped: [...this.#skipped, ...this.#missed] }
  }
}

export const isComplete = ({ skipped }: Inputs): boolean => skipped.length === 0

export const NOT_ALL_READ = "something was skipped that could matter"

/** The last lines of an answer as text. */
export function inputLines(inputs: Inputs): readonly string[] {
  const { policies, workloads, skipped } = inputs
  return [
    `read: ${counted(policies, "policy", "policies")}, ${counted(workloads, "workload", "workloads")}`,
    ...skipped.map(what => `skipped: ${visible(what)}`),
  ]
}

/** A definite finding stays one. Nothing else is certain if something was skipped. */
export function exitCodeOf(inputs: Inputs, otherwise: number): number {
  return otherwise === EXIT.ok && !isComplete(inputs) ? EXIT.undecided : otherwise
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
