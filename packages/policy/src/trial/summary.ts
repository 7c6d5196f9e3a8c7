// SPDX-License-Identifier: Apache-2.0
// An answer in the form that people and programs get, without the parts that only the evaluation needs.

import { ruleTitle } from "../authorization/rule-name.js"
import { accountOf, type StageAccount } from "./account.js"
import { type Answer, verdictOf } from "./trial.js"

export interface AnswerSummary {
  readonly verdict: Answer["verdict"]
  readonly status: number | undefined
  readonly body: string | undefined
  readonly stages: readonly StageAccount[]
  readonly rule: string | undefined
  /** The verdict if shadow policies were enforced; absent if there are none. */
  readonly shadow: Answer["verdict"] | undefined
}

export function summaryOf(answer: Answer): AnswerSummary {
  const { verdict, status, body, rule, trace } = answer
  return {
    verdict,
    status,
    body,
    stages: accountOf(answer),
    rule: rule && ruleTitle(rule),
    shadow: trace?.shadow && verdictOf(trace.shadow),
  }
}
