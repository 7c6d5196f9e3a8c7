// SPDX-License-Identifier: Apache-2.0
// The configurations in which TLC checks the model of `Enforced`, as differences from enforced.cfg.

import type { TraceEvent } from "./support/enforced-trace.js"

type Constants = { readonly [name: string]: string }

export interface ModelConfiguration {
  readonly name: string
  readonly constants: Constants
  /** The invariant that TLC must find violated, if the configuration has a bug or drops an assumption. */
  readonly finds?: string
  /** Checks the liveness property instead of the invariants: without further changes, the mesh becomes Enforced. */
  readonly liveness?: boolean
  /** Also checked with `--quick`, as in CI. */
  readonly quick?: boolean
  /** Only checked with `--large`. */
  readonly large?: boolean
}

const ONE_WORKER: Constants = { Workers: "{w1}" }
const TWO_PROXIES: Constants = { ...ONE_WORKER, Proxies: "{p1, p2}", MaxSessions: "1", Moves: "0" }
const TWO_REPLICAS: Constants = { ...ONE_WORKER, Replicas: "{r1, r2}" }

/** Content that does not change the generation is changed and then changed back. */
const CHANGED_BACK: Constants = { ...ONE_WORKER, MaxGeneration: "3", Moves: "0", VersionOfContent: "TRUE" }

const bug = (name: string, constants: Constants = {}): ModelConfiguration => ({
  name,
  constants: { ...constants, [name]: "TRUE" },
  finds: "Honest",
})

export const CONFIGURATIONS: readonly ModelConfiguration[] = [
  { name: "two-workers", constants: {} },
  { name: "two-proxies", constants: TWO_PROXIES },
  { name: "two-replicas", constants: { ...TWO_REPLICAS, MaxSessions: "1" }, quick: true },
  { name: "changed-back", constants: CHANGED_BACK, quick: true },
  { name: "liveness", constants: { ...ONE_WORKER, MaxSessions: "1" }, liveness: true, quick: true },
  bug("AckBeforeSwap"),
  bug("AckAfterOneWorker"),
  bug("AckBeforeKeep"),
  bug("RespawnWithOld"),
  bug("AnyAckCounts", ONE_WORKER),
  { ...bug("SentIgnored", CHANGED_BACK), quick: true },
  bug("DisconnectedIgnored", TWO_PROXIES),
  { ...bug("ServesLagging", { ...TWO_REPLICAS, Moves: "0" }), quick: true },
  bug("OldPodCounts", { ...TWO_REPLICAS, Faults: "0" }),
  { ...bug("OldReportCounts", { ...TWO_REPLICAS, Faults: "0" }), quick: true },
  { name: "three-generations", constants: { MaxGeneration: "3" }, large: true },
  { name: "two-faults", constants: { Faults: "2" }, large: true },
]

/** Returns a configuration file for TLC. */
export function configurationText(base: string, { constants, finds, liveness = false }: ModelConfiguration): string {
  let text = base
  for (const [name, value] of Object.entries(constants)) {
    const line = new RegExp(`^  ${name} = .*$`, "m")
    if (!line.test(text)) throw new Error(`enforced.cfg has no constant \`${name}\``)
    text = text.replace(line, `  ${name} = ${value}`)
  }
  // A bug may violate another invariant first, but only the one that users would notice counts.
  if (finds !== undefined) text = text.replace(/^INVARIANTS .*$/m, `INVARIANT ${finds}`)
  if (!liveness) return text
  // With symmetry, TLC could miss violations of liveness.
  return text
    .replace(/^SPECIFICATION .*$/m, "SPECIFICATION FairSpec")
    .replace(/^SYMMETRY .*$/m, "PROPERTY EndsEnforced")
}

/** The configuration of `TraceSpec`: one proxy with one worker, and as many generations as the trace has. */
export function traceConfiguration(base: string, events: readonly TraceEvent[]): string {
  const generations = events.flatMap(event => ("generation" in event ? [event.generation] : []))
  const kills = events.filter(({ kind }) => kind.endsWith("killed")).length
  const constants = { ...ONE_WORKER, MaxGeneration: `${Math.max(...generations)}`, Faults: `${kills}`, Moves: "0" }
  return configurationText(base, { name: "trace", constants })
    .replace("CONSTANTS", "CONSTANTS\n  Trace <- Recorded")
    .replace(/^SPECIFICATION .*$/m, "SPECIFICATION TraceSpec")
    .replace(/^INVARIANTS .*$/m, "INVARIANT NotExplained")
    .replace(/^SYMMETRY .*\n/m, "")
}
