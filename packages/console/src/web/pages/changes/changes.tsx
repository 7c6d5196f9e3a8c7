// SPDX-License-Identifier: Apache-2.0
// Changes: who changed policies in a period, what each change newly allowed and denied, and the net effect of all changes.

import { type ReactNode, useMemo } from "react"
import type { HistoryEntry, HistoryNote } from "../../api/answers.js"
import { useAnswers } from "../../api/queries.js"
import { useMayReadChanges } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { Compared } from "./compared.js"
import { Entries } from "./entries.js"
import { isWithin, periodOf } from "./period.js"
import { PeriodFields } from "./period-fields.js"
import "./changes.css"

export function Changes(): ReactNode {
  const namespace = useNamespace()
  const mayRead = useMayReadChanges(namespace)
  return (
    <>
      <PageHead title="Changes" sub="Who changed policies, and what each change newly allowed and denied (proved)." />
      {mayRead === false ? <NoRight namespace={namespace} /> : <Readable namespace={namespace} enabled={!!mayRead} />}
    </>
  )
}

function NoRight({ namespace }: { readonly namespace: string | undefined }): ReactNode {
  return (
    <Card title="History">
      <Empty title="Your account cannot read changes">
        Changes name users, so reading them needs the role <code>edit</code>{" "}
        {namespace === undefined ? "in the whole cluster" : `in ${namespace}`}: the right to list <code>changes</code>.
        Ask a cluster admin{namespace === undefined && ", or choose a namespace where you have it in the top bar"}.
      </Empty>
    </Card>
  )
}

interface ReadableProps {
  readonly namespace: string | undefined
  readonly enabled: boolean
}

function Readable({ namespace, enabled }: ReadableProps): ReactNode {
  const changes = useAnswers<HistoryEntry, HistoryNote>("changes", { namespace, seldom: true, enabled })
  const [search] = useSearchParameters()
  const wanted = useSearchText()
  const history = changes.data?.history
  const since = search.get("since")
  const until = search.get("until")
  const begun = Date.parse(history?.since ?? "")
  const newest = changes.data?.items[0]?.metadata.name
  // Computed once and again after each policy change: with the current time, every rendering would send a new query.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const period = useMemo(
    () => periodOf(since, until, Date.now(), Number.isFinite(begun) ? begun : undefined),
    [since, until, begun, newest],
  )
  const all = changes.data?.items.map(({ spec }) => spec) ?? []
  const inPeriod = all.filter(({ time }) => isWithin(period, time))
  if (history?.enabled === false && all.length === 0) return <TurnOn />
  return (
    <>
      <div className="bar">
        <PeriodFields period={period} />
        <SearchField label="Search by policy or user" />
      </div>
      {history?.enabled === false && (
        <p className="warning">
          The control plane keeps no history any more: later changes are missing. Start it with{" "}
          <code>merlond serve --history-entries 200</code>.
        </p>
      )}
      <div className="changes">
        <Card title="History" note={inPeriod.length > 0 && `${inPeriod.length} in this period, newest first`}>
          <Loaded query={changes}>
            {({ metadata }) => (
              <Entries
                entries={inPeriod.filter(entry => textOf(entry).includes(wanted))}
                newest={all}
                outside={all.length - inPeriod.length + (metadata?.remainingItemCount ?? 0)}
                isSearched={wanted !== "" && inPeriod.length > 0}
              />
            )}
          </Loaded>
        </Card>
        {/* Shown once the history has loaded: on a narrow page it is below it, whose height is not known before. */}
        {changes.data !== undefined && history?.enabled !== false && <Compared period={period} namespace={namespace} />}
      </div>
    </>
  )
}

function TurnOn(): ReactNode {
  return (
    <Card title="History">
      <Empty title="No history is kept">
        Start the control plane with <code>merlond serve --history-entries 200</code>, or set{" "}
        <code>config.historyEntries: 200</code> in the chart's values. From then on this page shows who changed which
        policy, and what that newly allowed and denied.
      </Empty>
    </Card>
  )
}

function textOf({ user, kind, namespace, name }: HistoryEntry): string {
  return `${user ?? ""} ${kind} ${namespace}/${name}`.toLowerCase()
}
