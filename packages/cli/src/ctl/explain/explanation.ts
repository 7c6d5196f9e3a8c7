// SPDX-License-Identifier: Apache-2.0
// A complete explanation of one request, as a value: the result, the stages, the smallest change that would allow it, and
// the problems of its token.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import type { KeySetLookup } from "@merlon/policy/tokens"
import {
  type AnswerSummary,
  type DescribedRequest,
  type PolicyEdit,
  smallestChange,
  summaryOf,
  Trial,
  tokenHelp,
} from "@merlon/policy/trial"

export interface Explanation extends AnswerSummary {
  /** Verified by evaluating again. Absent if none was found or none is needed. */
  readonly change: readonly PolicyEdit[] | undefined
  readonly token: readonly string[] | undefined
}

export interface Question {
  readonly documents: readonly PolicyDocument[]
  readonly workload: Workload
  readonly mesh: MeshConfig
  readonly asked: DescribedRequest
  readonly now: number
  readonly keys?: KeySetLookup | undefined
}

export function explanationOf(question: Question): Explanation {
  const { documents, workload, mesh, asked, now, keys } = question
  const trial = new Trial(documents, workload, mesh, now, keys)
  const answer = trial.ask(asked)
  const { authentication } = answer
  return {
    ...summaryOf(answer),
    change: answer.verdict === "deny" ? smallestChange(question, answer) : undefined,
    token:
      authentication?.outcome === "reject"
        ? tokenHelp(authentication.error, trial.tokenText(asked) ?? bearerOf(asked), trial.program.tokens, now)
        : undefined,
  }
}

/** The token of an explicit Authorization header. */
function bearerOf({ headers = {} }: DescribedRequest): string | undefined {
  const line = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1]
  const value = typeof line === "string" ? line : line?.[0]
  return value?.replace(/^bearer\s+/i, "")
}
