// SPDX-License-Identifier: Apache-2.0
// All policies, by kind: what each says and whether it is so, in the words of its status, and how often its rules are used.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, RuleUse } from "../../api/answers.js"
import { KINDS } from "../../api/kinds.js"
import { conditionOf, keyOf, type Policy } from "../../api/objects.js"
import { type KindPolicies, useAllPolicies, useAnswers } from "../../api/queries.js"
import { useWhereMayCreate } from "../../api/rights.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { isBad } from "../overview/problems.js"
import { TemplateLinks } from "./template-links.js"

/** Of each kind. */
const MOST = 200

export function PolicyList(): ReactNode {
  const kinds = useAllPolicies()
  const uses = useAnswers<RuleUse>("rules")
  const wanted = useSearchText()
  const where = useWhereMayCreate(KINDS[0])
  return (
    <>
      <h1>Policies</h1>
      {where !== undefined && <TemplateLinks namespace={where} />}
      <div className="bar">
        <SearchField label="Search" />
      </div>
      {kinds.map(kind => (
        <KindSection key={kind.entry.kind} kind={kind} uses={uses.data?.items ?? []} wanted={wanted} />
      ))}
    </>
  )
}

interface KindSectionProps {
  readonly kind: KindPolicies
  readonly uses: readonly Answer<RuleUse>[]
  readonly wanted: string
}

function KindSection({ kind: { entry, query }, uses, wanted }: KindSectionProps): ReactNode {
  return (
    <section aria-labelledby={entry.kind}>
      <h2 id={entry.kind}>
        {entry.kind} <span className="hint">{entry.purpose}</span>
      </h2>
      <Loaded query={query}>
        {policies => {
          const shown = policies.filter(policy => textOf(policy).includes(wanted))
          if (shown.length === 0) return <p>{policies.length === 0 ? "There is none." : "None has this in it."}</p>
          return (
            <>
              <PolicyTable kind={entry.kind} policies={shown.slice(0, MOST)} uses={uses} />
              <More shown={MOST} of={shown.length} />
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

interface PolicyTableProps {
  readonly kind: string
  readonly policies: readonly Policy[]
  readonly uses: readonly Answer<RuleUse>[]
}

function PolicyTable({ kind, policies, uses }: PolicyTableProps): ReactNode {
  return (
    <table>
      <Columns names={["Name", "What it says", "State", "Rules used"]} />
      <tbody>
        {policies.map(policy => (
          <tr key={keyOf(policy)}>
            <th scope="row">
              <Link href={`/policies/${kind}/${keyOf(policy)}`}>{keyOf(policy)}</Link>
            </th>
            <td>
              <Worded text={conditionOf(policy, "Accepted")?.message} />
            </td>
            <td>
              <PolicyState policy={policy} />
            </td>
            <td>{usageText(uses.filter(({ spec }) => spec.kind === kind && spec.policy === keyOf(policy)))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function PolicyState({ policy }: { readonly policy: Policy }): ReactNode {
  const conditions = policy.status?.conditions ?? []
  if (conditions.length === 0) return <Mark tone="quiet">not looked at yet</Mark>
  const bad = conditions.filter(isBad)
  const said = conditionOf(policy, "Ready") ?? conditionOf(policy, "Holds") ?? bad[0] ?? conditions[0]
  const tone = bad.length === 0 ? "good" : bad.some(({ status }) => status === "False") ? "bad" : "warn"
  return (
    <>
      <Mark tone={tone}>{said?.reason}</Mark> <Worded text={said?.message} />
    </>
  )
}

function usageText(uses: readonly Answer<RuleUse>[]): string {
  if (uses.length === 0) return ""
  const used = uses.filter(({ spec }) => spec.count > 0)
  const calls = used.reduce((sum, { spec }) => sum + spec.count, 0)
  return `${count(used.length)} of ${count(uses.length)}, ${count(calls)} calls`
}

function textOf(policy: Policy): string {
  const messages = policy.status?.conditions?.map(({ message }) => message) ?? []
  return [keyOf(policy), ...messages].join(" ").toLowerCase()
}
