// SPDX-License-Identifier: Apache-2.0
// What a test observes of one policy and one proxy in a real mesh, in order. The test observes one event after the
// other, so their order is certain. `npm run test:model` asks TLC whether the model explains a saved trace.

import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export type TraceEvent =
  | { readonly kind: "changed" | "enforced" | "judged"; readonly generation: number }
  | {
      readonly kind: "control plane killed" | "control plane started" | "proxy killed" | "proxy started"
    }

export class EnforcedTrace {
  readonly events: TraceEvent[] = []

  add(event: TraceEvent): void {
    this.events.push(event)
  }

  /** Requests that were evaluated with a generation older than one that was Enforced before. */
  get judgedTooLate(): readonly string[] {
    let enforced = 0
    return this.events.flatMap(event => {
      if (event.kind === "enforced") enforced = event.generation
      const isLate = event.kind === "judged" && event.generation < enforced
      return isLate ? [`judged by ${event.generation} after ${enforced} was Enforced`] : []
    })
  }

  /** Saves the trace in the folder of `MERLON_TRACES`, if it is set. */
  save(name: string): void {
    const folder = process.env.MERLON_TRACES
    if (folder === undefined) return
    mkdirSync(folder, { recursive: true })
    const lines = this.events.map(event => JSON.stringify(event))
    writeFileSync(join(folder, `${name}.json`), `[\n  ${lines.join(",\n  ")}\n]\n`)
  }
}

/** Formats the trace as a TLA+ sequence. */
export function traceText(events: readonly TraceEvent[]): string {
  const record = (event: TraceEvent): string =>
    `[kind |-> "${event.kind}"${"generation" in event ? `, generation |-> ${event.generation}` : ""}]`
  return `<<${events.map(record).join(", ")}>>`
}
