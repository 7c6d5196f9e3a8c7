// SPDX-License-Identifier: Apache-2.0
// The inputs of an answer. One rule for all commands that answer about policies: the answer states how many policies and
// workloads it read and what it skipped. If it skipped anything that could matter, or read nothing, it claims no proof
// and the command exits with 4.

import type { Workload } from "@merlon/policy/selection"
import { EXIT } from "../exit.js"
import { visible } from "../terminal.js"

/** As reports have it, under `read`. */
export interface Inputs {
  readonly policies: number
  readonly workloads: number
  /** What could have changed the answer and was not read, each with the reason. Empty where the answer is about everything. */
  readonly skipped: readonly string[]
}

/** Whether something that was skipped can change what the workload's proxy decides. */
export type Scope = (workload: Workload, rootNamespace: string) => boolean

/** Collects what is skipped while inputs are read. */
export class InputLog {
  readonly #skipped = new Set<string>()
  readonly #scopes = new Map<string, Scope>()
  readonly #missed = new Set<string>()

  /** `scope`: absent where it could matter to every workload. */
  skip(what: string, scope?: Scope): void {
    if (scope === undefined) this.#scopes.delete(what)
    else if (!this.#skipped.has(what)) this.#scopes.set(what, scope)
    this.#skipped.add(what)
  }

  /** A workload that is not among those that were read: answers about all workloads lack it. */
  miss(what: string): void {
    this.#missed.add(what)
  }

  /** For an answer about workloads that were read. */
  noteMissed(note: (text: string) => void): void {
    for (const what of this.#missed) note(what)
    this.#missed.clear()
  }

  /** Takes over what another log has. */
  add(other: InputLog): void {
    for (const what of other.#missed) this.miss(what)
    for (const what of other.#skipped) this.skip(what, other.#scopes.get(what))
  }

  /** Notes what cannot matter to any of these workloads, in place of skipping it. */
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

/** The lines that end an answer for people. */
export function inputLines(inputs: Inputs): readonly string[] {
  const { policies, workloads, skipped } = inputs
  return [
    `read: ${counted(policies, "policy", "policies")}, ${counted(workloads, "workload", "workloads")}`,
    ...skipped.map(what => `skipped: ${visible(what)}`),
  ]
}

/** What was found for certain stays found; nothing else is certain where something was skipped. */
export function exitCodeOf(inputs: Inputs, otherwise: number): number {
  return otherwise === EXIT.ok && !isComplete(inputs) ? EXIT.undecided : otherwise
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
