// SPDX-License-Identifier: Apache-2.0
// Observations as JSON: the control plane's data with the name of its subject.

import type { PolicyEdit } from "@merlon/policy/trial"
import type { Fields } from "../foreign.js"
import type { Observation } from "./answers-api.js"

export function rulesJson(items: readonly Observation[]): string {
  return pretty(items.map(({ spec }) => spec))
}

/** `skipped`: gaps in the answer. */
export function proxiesJson(items: readonly Observation[], skipped: readonly string[]): string {
  return pretty({ proxies: items.map(named("proxy")), read: { proxies: items.length, skipped } })
}

export function readinessJson(items: readonly Observation[], skipped: readonly string[]): string {
  return pretty({ workloads: items.map(named("workload")), read: { workloads: items.length, skipped } })
}

/** One decision per line, because programs that follow the output read it line by line. */
export function decisionLine({ spec }: Observation): string {
  return JSON.stringify(spec)
}

export function decisionJson({ spec }: Observation, change?: readonly PolicyEdit[]): string {
  return pretty(change === undefined ? spec : { ...spec, change })
}

function named(word: string): (seen: Observation) => Fields {
  return ({ namespace, name, spec }) => ({ [word]: `${namespace}/${name}`, ...spec })
}

const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2)
