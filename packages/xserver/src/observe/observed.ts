// SPDX-License-Identifier: Apache-2.0
// The queries that an observer of calls answers: this process, or several workers.

import type { CallReport } from "./call-counter.js"
import type { DecisionListener } from "./decision-tail.js"
import type { DecisionSummary } from "./decisions.js"

export interface Observed {
  /** Calls since the previous call of this function. */
  takeCalls(): Promise<CallReport>
  /** Undefined stops following. */
  followDecisions(listener: DecisionListener | undefined): Promise<void>
  /** The last decisions, newest first. */
  decisions(): Promise<readonly DecisionSummary[]>
  decision(id: string): Promise<DecisionSummary | undefined>
}
