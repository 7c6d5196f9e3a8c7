// SPDX-License-Identifier: Apache-2.0
// The time and the author of the last policy change. Empty if the history is off or the user cannot read it.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { HistoryEntry, HistoryNote } from "../../api/answers.js"
import { LAST_CHANGE, useAnswers } from "../../api/queries.js"
import { useMayReadChanges } from "../../api/rights.js"
import { Ago } from "../../ui/time.js"

export interface Change {
  readonly entry: HistoryEntry | undefined
  readonly isPending: boolean
}

export function useLastChange(namespace: string | undefined): Change {
  const mayRead = useMayReadChanges(namespace)
  const { data, isPending } = useAnswers<HistoryEntry, HistoryNote>(LAST_CHANGE, {
    ...{ namespace, seldom: true, enabled: mayRead === true },
  })
  return {
    // If the history is off, its newest entry is not the last change.
    entry: data?.history?.enabled === false ? undefined : data?.items[0]?.spec,
    isPending: mayRead !== false && isPending,
  }
}

export function LastChange({ of: newest }: { readonly of: HistoryEntry | undefined }): ReactNode {
  if (newest === undefined) return null
  const before = Date.parse(newest.time) - 1
  const period = Number.isFinite(before) ? `?since=${new Date(before).toISOString()}` : ""
  return (
    <>
      {" "}
      <Link href={`/changes${period}`}>Last change</Link> <Ago at={newest.time} /> by{" "}
      <strong>{newest.user ?? "one of several users"}</strong>.
    </>
  )
}
