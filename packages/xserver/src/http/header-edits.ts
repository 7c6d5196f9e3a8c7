// SPDX-License-Identifier: Apache-2.0
// Changes to the headers of a forwarded request, besides those of the judgement.

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

/** The trace headers of the proxy replace those of the caller; a header that a policy sets has priority. */
export function withTrace(edits: HeaderEdits, trace: RequestTrace<RequestRecord> | undefined): HeaderEdits {
  if (trace?.headers === undefined) return edits
  const traceHeaders = trace.headers.filter(([name]) => !edits.setHeaders.some(([set]) => set === name))
  return {
    ...edits,
    removeHeaders: [...edits.removeHeaders, ...traceHeaders.map(([name]) => name)],
    setHeaders: [
      ...edits.setHeaders,
      ...traceHeaders.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
    ],
  }
}
