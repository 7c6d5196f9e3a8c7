// SPDX-License-Identifier: Apache-2.0
// Runs the evaluations of one AuthZEN message one after the other, because each may have to wait for a provider.

import type { Evaluation, Evaluations, Malformed } from "./authzen.js"
import { denial, type EvaluationAnswer, permission } from "./authzen-answer.js"
import type { Verdict } from "./question-judge.js"

/** Calls back exactly once, synchronously or later. */
type Evaluate<T> = (item: T, done: (outcome: Verdict["outcome"]) => void) => void

export interface Run {
  readonly evaluate: Evaluate<Evaluation | Malformed>
  /** Called between two evaluations, with the status of the first one. */
  readonly next: (status: number) => void
}

/** `done` gets the decisions and the status of the last one. */
export function evaluateAll(
  { items, stopAt }: Evaluations,
  run: Run,
  done: (answers: readonly EvaluationAnswer[], status: number) => void,
): void {
  const answers: EvaluationAnswer[] = []
  const from = (index: number): void => {
    const item = items[index] ?? { malformed: "there is nothing to evaluate" }
    run.evaluate(item, outcome => {
      const isAllowed = "setHeaders" in outcome
      const status = isAllowed ? 200 : outcome.status
      answers.push(isAllowed ? permission(outcome) : denial(outcome))
      if (isAllowed === stopAt || answers.length >= items.length) {
        done(answers, status)
        return
      }
      run.next(status)
      from(index + 1)
    })
  }
  from(0)
}

/** `done` gets the requests that are allowed. */
export function allowedOf<T extends Evaluation>(
  items: readonly T[],
  evaluate: Evaluate<T>,
  done: (allowed: readonly T[]) => void,
): void {
  const allowed: T[] = []
  const from = (index: number): void => {
    const item = items[index]
    if (item === undefined) {
      done(allowed)
      return
    }
    evaluate(item, outcome => {
      if ("setHeaders" in outcome) allowed.push(item)
      from(index + 1)
    })
  }
  from(0)
}
