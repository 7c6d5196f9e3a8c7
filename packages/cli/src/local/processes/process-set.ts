// SPDX-License-Identifier: Apache-2.0
// The processes of one mesh, in start order. If one dies while the mesh starts, the start fails; afterwards it is
// restarted and that is reported.

import { CommandError } from "../../ctl/exit.js"
import type { Progress } from "../progress.js"
import type { ProcessRecord } from "../record/mesh-record.js"
import { GRACE_MS } from "./grace.js"
import { tailOf } from "./log-file.js"
import { ManagedProcess, type ProcessOptions } from "./managed-process.js"
import type { Programs } from "./programs.js"

const TOLD_LINES = 10

export type ProcessPlan = Omit<ProcessOptions, "changed" | "died">

export class StartFailure extends CommandError {
  /** Whether another process took a port that was free when we checked. */
  readonly portTaken: boolean

  constructor(message: string, portTaken: boolean) {
    super(portTaken ? "port-unavailable" : "mesh-failed", message)
    this.portTaken = portTaken
  }
}

export class ProcessSet {
  readonly #watchingParent: Programs["watchingParent"]
  readonly #progress: Progress
  readonly #changed: () => void
  readonly #groups: ManagedProcess[][] = []
  #fail: (error: Error) => void = () => undefined
  #state: "starting" | "settled" | "stopping" = "starting"
  /** Rejects if a process dies before it is ready. */
  readonly failure: Promise<never>

  constructor(watchingParent: Programs["watchingParent"], progress: Progress, changed: () => void) {
    this.#watchingParent = watchingParent
    this.#progress = progress
    this.#changed = changed
    this.failure = new Promise((_, reject) => {
      this.#fail = reject
    })
    // Awaited later by the caller. This handler prevents an unhandled rejection until then.
    this.failure.catch(() => undefined)
  }

  get records(): readonly ProcessRecord[] {
    return this.#groups.flat().flatMap(({ record }) => (record === undefined ? [] : [record]))
  }

  /** Starts a group. Its processes are stopped together, before those that were started earlier. */
  start(plans: readonly ProcessPlan[]): readonly ManagedProcess[] {
    const group = plans.map(
      plan =>
        new ManagedProcess({
          ...plan,
          launch: this.#watchingParent(plan.launch),
          changed: this.#changed,
          died: (process, how, delayMs) => this.#died(process, how, delayMs),
        }),
    )
    this.#groups.push(group)
    for (const process of group) process.start()
    return group
  }

  /** Stops some processes while the others keep running. */
  async end(processes: readonly ManagedProcess[]): Promise<void> {
    await Promise.all(processes.map(process => process.stop(GRACE_MS)))
    for (const [index, group] of this.#groups.entries()) {
      this.#groups[index] = group.filter(process => !processes.includes(process))
    }
  }

  /** From now on, a process that dies is restarted. */
  settled(): void {
    if (this.#state === "starting") this.#state = "settled"
  }

  /** Returns the number of processes that ran. */
  async stop(): Promise<number> {
    this.#state = "stopping"
    const count = this.records.length
    for (const group of this.#groups.reverse()) await Promise.all(group.map(process => process.stop(GRACE_MS)))
    return count
  }

  #died(process: ManagedProcess, how: string, delayMs: number): void {
    const { name, log } = process
    // All processes are about to be stopped, so this end is not reported.
    if (this.#state === "stopping") return
    if (this.#state === "starting") {
      const tail = tailOf(log, TOLD_LINES).trimEnd()
      this.#fail(
        new StartFailure(
          `${name} ended while the mesh was starting (${how}); the end of \`${log}\`:\n${tail}`,
          tail.includes("EADDRINUSE"),
        ),
      )
      return
    }
    this.#progress({
      kind: "trouble",
      text: `${name} ended unexpectedly (${how}); it is started again in ${delayMs / 1000} s; its log is ${log}`,
    })
  }
}
