// SPDX-License-Identifier: Apache-2.0
// Changes on a timeline, by day: the user, the time, the policy, and the proved effect.

import { Minus, Pencil, Plus } from "lucide-react"
import type { ReactNode } from "react"
import { Link } from "wouter"
import type { EffectRegion, HistoryEntry } from "../../api/answers.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { Empty } from "../../ui/empty.js"
import { Badge, type Tone } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { CertificateButton } from "./certificate-button.js"
import { byDay, currentPolicies, policyPath } from "./time-line.js"

const MOST = 100
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" })

interface EntriesProps {
  /** Newest first. */
  readonly entries: readonly HistoryEntry[]
  /** All known entries, newest first. */
  readonly newest: readonly HistoryEntry[]
  /** The number of entries outside the period. */
  readonly outside: number
  readonly isSearched: boolean
}

export function Entries({ entries, newest, outside, isSearched }: EntriesProps): ReactNode {
  if (entries.length === 0 && isSearched) return <p className="hint">No match.</p>
  if (entries.length === 0) {
    return (
      <Empty title="No policy changed in this period">
        {outside > 0
          ? `${count(outside)} ${outside === 1 ? "change is" : "changes are"} outside of it: choose a longer period.`
          : "A change appears here a moment after it is applied."}
      </Empty>
    )
  }
  const current = currentPolicies(newest)
  return (
    <>
      {byDay(entries.slice(0, MOST)).map(({ start, entries: own }) => (
        <section key={start} aria-label={day.format(start)}>
          <h3>{day.format(start)}</h3>
          <ol className="time-line">
            {own.map(entry => (
              <li key={`${entry.namespace} ${entry.sequence}`}>
                <EntrySummary of={entry} isCurrent={current.has(policyPath(entry))} />
              </li>
            ))}
          </ol>
        </section>
      ))}
      <More shown={MOST} of={entries.length} hint="choose a shorter period, or use the search" />
    </>
  )
}

const OPERATIONS = {
  create: { word: "created", Icon: Plus },
  update: { word: "updated", Icon: Pencil },
  delete: { word: "deleted", Icon: Minus },
} as const

function EntrySummary({ of: entry, isCurrent }: { readonly of: HistoryEntry; readonly isCurrent: boolean }): ReactNode {
  const [, change] = useSearchParameters()
  const { time, user, operation, kind, namespace, name, generation, difference } = entry
  const { word, Icon } = OPERATIONS[operation]
  const policy = `${kind} ${namespace}/${name}`
  const before = new Date(Date.parse(time) - 1).toISOString()
  const compare = (): void =>
    change(next => {
      next.set("since", before)
      next.delete("until")
    })
  return (
    <>
      <span className={`dot ${toneOf(difference)}`}>
        <Icon aria-hidden={true} />
      </span>
      <div className="head">
        <p>
          <strong>{user ?? "One of several users"}</strong> {word}{" "}
          {isCurrent ? <Link href={`/policies/${policyPath(entry)}`}>{policy}</Link> : policy}{" "}
          <span className="hint">
            {operation !== "delete" && `generation ${generation} · `}
            <Ago at={time} />
          </span>{" "}
          {difference.undecided === undefined && <Badge tone="good">proved</Badge>}
        </p>
        {entry.certificate !== undefined && "digest" in entry.certificate && <CertificateButton of={entry} />}
        <button
          type="button"
          className="quiet"
          aria-label={`Compare from here, before ${user ?? "one of several users"} ${word} ${policy}`}
          onClick={compare}
        >
          Compare from here
        </button>
      </div>
      <Effect of={difference} />
    </>
  )
}

function toneOf({ allowed, denied, undecided }: HistoryEntry["difference"]): Tone {
  if (allowed.length > 0 || undecided !== undefined) return "warn"
  return denied.length > 0 ? "info" : "quiet"
}

function Effect({ of: { allowed, denied, undecided } }: { readonly of: HistoryEntry["difference"] }): ReactNode {
  const isNothing = allowed.length + denied.length === 0
  return (
    <ul className="plain">
      {allowed.map(region => (
        <li key={region.region}>
          <Badge tone="warn">newly allowed</Badge> <Region of={region} />
        </li>
      ))}
      {denied.map(region => (
        <li key={region.region}>
          <Badge tone="info">newly denied</Badge> <Region of={region} />
        </li>
      ))}
      {undecided !== undefined && (
        <li>
          <Badge tone="quiet">not decided</Badge> <Worded text={undecided} />
        </li>
      )}
      {undecided === undefined && isNothing && (
        <li className="hint">No request to the workloads running at that time is decided differently.</li>
      )}
    </ul>
  )
}

function Region({ of: { region, workloads, more = 0 } }: { readonly of: EffectRegion }): ReactNode {
  return (
    <>
      <Worded text={region} />{" "}
      <span className="hint">
        on {workloads.join(", ")}
        {more > 0 && ` and ${count(more)} more`}
      </span>
    </>
  )
}
