// SPDX-License-Identifier: Apache-2.0
// Changes that are still to be processed: workloads to revise and policies to report. `due` is called once per burst
// and takes them all. INVARIANT: it is never called before `begin`.

import { Burst, type Scheduler } from "./burst.js"

export interface Touched {
  /** Keys of workloads whose view may change. */
  readonly workloads?: Iterable<string>
  /** Keys of policies that changed, or that select other workloads than before. */
  readonly policies?: Iterable<string>
}

export interface Changes {
  readonly workloads: ReadonlySet<string>
  readonly policies: ReadonlySet<string>
}

export class PendingChanges {
  readonly #due: () => void
  readonly #burst: Burst
  #workloads = new Set<string>()
  #policies = new Set<string>()
  #begun = false

  constructor(due: () => void, scheduler?: Scheduler) {
    this.#due = due
    this.#burst = new Burst(due, scheduler)
  }

  add({ workloads = [], policies = [] }: Touched): void {
    for (const key of workloads) this.#workloads.add(key)
    for (const key of policies) this.#policies.add(key)
    if (this.#begun && this.#workloads.size + this.#policies.size > 0) this.#burst.request()
  }

  /** Everything added since the last call. */
  take(): Changes {
    const taken = { workloads: this.#workloads, policies: this.#policies }
    this.#workloads = new Set()
    this.#policies = new Set()
    return taken
  }

  /** Processes everything added until now, at once. Later calls do nothing. */
  begin(): void {
    if (this.#begun) return
    this.#begun = true
    this.#due()
  }

  /** Processes everything added until now, without waiting for the end of the burst. */
  settle(): void {
    if (this.#begun && this.#workloads.size + this.#policies.size > 0) this.#due()
  }

  stop(): void {
    this.#burst.stop()
  }
}
