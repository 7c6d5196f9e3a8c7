// SPDX-License-Identifier: Apache-2.0
// What changes in the headers of a request that is forwarded, beside what the judgement says.

import type { RequestRecord } from "../observe/meters.js"
import type { Answers } from "../providers/providers.js"
import type { RequestTrace } from "../trace/tracer.js"
import type { HeaderEdits } from "./forwarded-request.js"

/** Providers add headers for the application, except those that a policy sets, and have others removed. */
export function withAnswers(edits: HeaderEdits, answers: readonly Answers[]): HeaderEdits {
  if (answers.length === 0) return edits
  const isOurs = (name: string): boolean => edits.setHeaders.some(([set]) => set === name)
  const added = answers.flatMap(({ setHeaders }) => setHeaders.filter(([name]) => !isOurs(name)))
  return {
    ...edits,
    removeHeaders: [...edits.removeHeaders, ...answers.flatMap(({ removeHeaders }) => removeHeaders)],
    setHeaders: [...edits.setHeaders, ...added],
  }
}

/** What was decided of a trace takes the place of what the caller sent; a policy that writes there has the last word. */
export function withTrace(edits: HeaderEdits, trace: RequestTrace<RequestRecord> | undefined): HeaderEdits {
  if (trace?.headers === undefined) return edits
  const told = trace.headers.filter(([name]) => !edits.setHeaders.some(([set]) => set === name))
  return {
    ...edits,
    removeHeaders: [...edits.removeHeaders, ...told.map(([name]) => name)],
    setHeaders: [
      ...edits.setHeaders,
      ...told.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
    ],
  }
}
