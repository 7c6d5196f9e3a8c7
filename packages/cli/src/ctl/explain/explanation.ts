// SPDX-License-Identifier: Apache-2.0
// Everything there is to say about one request, as a value: what came of it, the way through the stages, what would have
// to change, and what is wrong with its token.

import { ruleName } from "@merlon/policy/authorization"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import type { KeySetLookup } from "@merlon/policy/tokens"
import {
  type AskedRequest,
  accountOf,
  type PolicyEdit,
  type StageAccount,
  smallestChange,
  Trial,
  tokenHelp,
} from "@merlon/policy/trial"

export interface Explanation {
  readonly verdict: "allow" | "refuse"
  readonly status: number | undefined
  readonly body: string | undefined
  readonly stages: readonly StageAccount[]
  readonly rule: string | undefined
  /** What the verdict would be with Shadow policies enforced; absent where there are none. */
  readonly shadow: "allow" | "refuse" | undefined
  /** Verified by judging again; absent where none was found or none is needed. */
  readonly change: readonly PolicyEdit[] | undefined
  readonly token: readonly string[] | undefined
}

export interface Question {
  readonly documents: readonly PolicyDocument[]
  readonly workload: Workload
  readonly mesh: MeshConfig
  readonly asked: AskedRequest
  readonly now: number
  readonly keys?: KeySetLookup | undefined
}

export function explanationOf(question: Question): Explanation {
  const { documents, workload, mesh, asked, now, keys } = question
  const trial = new Trial(documents, workload, mesh, now, keys)
  const answer = trial.ask(asked)
  const { authentication } = answer
  const shadow = answer.trace?.shadow?.verdict
  return {
    verdict: answer.verdict,
    status: answer.status,
    body: answer.body,
    stages: accountOf(answer),
    rule: answer.rule && ruleName(answer.rule),
    shadow: shadow === undefined ? undefined : shadow === "allow" ? "allow" : "refuse",
    change: answer.verdict === "refuse" ? smallestChange(question, answer) : undefined,
    token:
      authentication?.outcome === "reject"
        ? tokenHelp(authentication.fault, trial.tokenText(asked) ?? bearerOf(asked), trial.program.tokens, now)
        : undefined,
  }
}

/** Of a header that was written out. */
function bearerOf({ headers = {} }: AskedRequest): string | undefined {
  const line = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1]
  const value = typeof line === "string" ? line : line?.[0]
  return value?.replace(/^bearer\s+/i, "")
}
