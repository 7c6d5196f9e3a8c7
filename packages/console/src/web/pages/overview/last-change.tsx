// SPDX-License-Identifier: Apache-2.0
// When a policy was changed last and by whom. Empty if no history is kept, or if the user cannot read it.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { HistoryEntry, HistoryNote } from "../../api/answers.js"
import { useAnswers } from "../../api/queries.js"
import { useMayReadChanges } from "../../api/rights.js"
import { Ago } from "../../ui/time.js"

export function LastChange({ namespace }: { readonly namespace: string | undefined }): ReactNode {
  const enabled = useMayReadChanges(namespace) === true
  const { data } = useAnswers<HistoryEntry, HistoryNote>("changes?limit=1", { namespace, seldom: true, enabled })
  const newest = data?.items[0]?.spec
  // Entries of a history that is turned off are not the last changes.
  if (newest === undefined || data?.history?.enabled === false) return null
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
