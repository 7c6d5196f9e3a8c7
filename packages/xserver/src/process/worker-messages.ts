// SPDX-License-Identifier: Apache-2.0
// Messages between the primary and its workers. Every query has a number, which its answer repeats. Unprompted, a
// worker reports missing keys, and its decisions while a client follows them.

import type { Configuration } from "../config/configuration.js"
import type { DecisionSummary } from "../observe/decisions.js"
import type { DataPathOptions } from "./local-data-path.js"

export type Question =
  | { readonly ask: "start"; readonly options: DataPathOptions }
  | { readonly ask: "apply"; readonly configuration: Configuration }
  | { readonly ask: "metrics" }
  | { readonly ask: "decisions" }
  | { readonly ask: "decision"; readonly id: string }
  | { readonly ask: "calls" }
  | { readonly ask: "follow"; readonly on: boolean }
  | { readonly ask: "start-draining" }
  | { readonly ask: "drain" }

export interface Asked {
  readonly number: number
  readonly question: Question
}

/** Sent once, when the worker listens: earlier messages to it are lost. */
export const HELLO = "hello"

export type Answered =
  | typeof HELLO
  | { readonly unknownKeys: readonly string[] }
  | { readonly followed: readonly DecisionSummary[]; readonly leftOut: number }
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly error: string }
