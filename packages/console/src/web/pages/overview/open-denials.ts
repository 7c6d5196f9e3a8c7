// SPDX-License-Identifier: Apache-2.0
// Leaves out denied calls that need no attention any more: they were not denied since the last policy change, and the
// current policies allow them.

import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo, useRef } from "react"
import type { Explanation, ObservedCall } from "../../api/answers.js"
import { useQuestions } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { isOneRequest, questionOf } from "../allow/denied-call.js"
import type { Change } from "./last-change.js"

/** A limit, since each call costs an evaluation. */
const MOST = 10
const NONE: readonly object[] = []

export interface OpenDenials {
  readonly calls: readonly ObservedCall[]
  /** Whether some calls are still being evaluated, so that the list may become shorter. */
  readonly isPending: boolean
}

export function useOpenDenials(calls: readonly ObservedCall[], { entry, isPending }: Change): OpenDenials {
  const mayAsk = useMayAsk("explanations")
  useAskAgain(entry?.time)
  const candidates = mayAsk === false ? [] : deniedBefore(calls, entry?.time)
  const key = JSON.stringify(candidates.map(questionOf))
  const questions = useMemo(() => JSON.parse(key) as readonly object[], [key]) // serialized above
  const asked = useQuestions<Explanation>("explanations", mayAsk === true ? questions : NONE)
  const allowed = new Set(candidates.filter((_, at) => asked[at]?.data?.verdict === "allow"))
  return {
    calls: calls.filter(call => !allowed.has(call)),
    isPending: (calls.length > 0 && isPending) || asked.length < candidates.length || asked.some(one => one.isPending),
  }
}

/** The calls whose last denial is older than the last policy change, the most frequent first. */
export function deniedBefore(calls: readonly ObservedCall[], lastChange: string | undefined): readonly ObservedCall[] {
  const changed = Date.parse(lastChange ?? "")
  return calls
    .filter(call => isOneRequest(call) && Date.parse(call.lastSeen) < changed)
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST)
}

/** Discards explanations from before the last policy change. */
function useAskAgain(lastChange: string | undefined): void {
  const queries = useQueryClient()
  const before = useRef(lastChange)
  useEffect(() => {
    if (before.current === lastChange) return
    if (before.current !== undefined) void queries.invalidateQueries({ queryKey: ["asked", "explanations"] })
    before.current = lastChange
  }, [queries, lastChange])
}
