// SPDX-License-Identifier: Apache-2.0
// All policies by kind: what each does, its state, and how often its rules matched.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, RuleUse } from "../../api/answers.js"
import { KINDS } from "../../api/kinds.js"
import { conditionOf, keyOf, type Policy } from "../../api/objects.js"
import { type KindPolicies, useAllPolicies, useAnswers } from "../../api/queries.js"
import { useWhereMayCreate } from "../../api/rights.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge } from "../../ui/mark.js"
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
      <PageHead title="Policies" />
      <TemplateLinks where={where} />
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
  const namespace = useNamespace()
  return (
    <Card title={entry.kind} note={entry.purpose} flush>
      <Loaded query={query}>
        {policies => {
          const own = policies.filter(policy => isIn(namespace, keyOf(policy)))
          const shown = own.filter(policy => textOf(policy).includes(wanted))
          if (shown.length === 0)
            return <p className="hint">{own.length === 0 ? `No ${entry.kind} yet.` : "No match."}</p>
          return (
            <>
              <PolicyTable kind={entry.kind} policies={shown.slice(0, MOST)} uses={uses} />
              <More shown={MOST} of={shown.length} />
            </>
          )
        }}
      </Loaded>
    </Card>
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
      <Columns names={["Name", "What it does", "State", "Rules used"]} />
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
  if (conditions.length === 0) return <Badge tone="quiet">not checked yet</Badge>
  const bad = conditions.filter(isBad)
  const said = conditionOf(policy, "Ready") ?? conditionOf(policy, "Holds") ?? bad[0] ?? conditions[0]
  const tone = bad.length === 0 ? "good" : bad.some(({ status }) => status === "False") ? "bad" : "warn"
  return (
    <>
      <Badge tone={tone}>{said?.reason}</Badge> <Worded text={said?.message} />
    </>
  )
}

function usageText(uses: readonly Answer<RuleUse>[]): string {
  if (uses.length === 0) return ""
  const used = uses.filter(({ spec }) => spec.count > 0)
  const calls = used.reduce((sum, { spec }) => sum + spec.count, 0)
  return `${count(used.length)} of ${count(uses.length)}, ${count(calls)} requests`
}

function textOf(policy: Policy): string {
  const messages = policy.status?.conditions?.map(({ message }) => message) ?? []
  return [keyOf(policy), ...messages].join(" ").toLowerCase()
}
