// SPDX-License-Identifier: Apache-2.0
// All policies by kind: the effect of each, its state, and how often its rules matched.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, RuleUse } from "../../api/answers.js"
import { KINDS } from "../../api/kinds.js"
import { type Condition, conditionOf, keyOf, type Policy } from "../../api/objects.js"
import { type KindPolicies, useAllPolicies, useAnswers } from "../../api/queries.js"
import { useWhereMayCreate } from "../../api/rights.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { Badge } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { isBad } from "../overview/problems.js"
import { TemplateLinks } from "./template-links.js"

/** The number of policies shown per kind. */
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
      {/* All kinds appear at once: each would otherwise move the ones below it. */}
      {uses.isPending || kinds.some(({ query }) => query.isPending) ? (
        <Skeleton />
      ) : (
        kinds.map(kind => (
          <KindSection key={kind.entry.kind} kind={kind} uses={uses.data?.items ?? []} wanted={wanted} />
        ))
      )}
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
              <PolicyTable kind={entry.kind} policies={shown} uses={uses} />
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
  const usesOf = (policy: Policy): readonly Answer<RuleUse>[] =>
    uses.filter(({ spec }) => spec.kind === kind && spec.policy === keyOf(policy))
  const columns: readonly Column<Policy>[] = [
    {
      name: "Name",
      by: keyOf,
      cell: policy => <Link href={`/policies/${kind}/${keyOf(policy)}`}>{keyOf(policy)}</Link>,
    },
    { name: "What it does", cell: policy => <Worded text={conditionOf(policy, "Accepted")?.message} /> },
    { name: "State", by: stateText, cell: policy => <PolicyState policy={policy} /> },
    ...(kind === KINDS[0]?.kind || uses.some(({ spec }) => spec.kind === kind)
      ? [
          {
            name: "Rules used",
            by: (policy: Policy) => usesOf(policy).reduce((sum, { spec }) => sum + spec.count, 0),
            cell: (policy: Policy) => usageText(usesOf(policy)),
          },
        ]
      : []),
  ]
  return <DataTable className="policies" columns={columns} rows={policies} keyOf={keyOf} most={MOST} />
}

export function PolicyState({ policy }: { readonly policy: Policy }): ReactNode {
  const condition = decisiveCondition(policy)
  if (condition === undefined) return <Badge tone="quiet">{stateText(policy)}</Badge>
  const bad = (policy.status?.conditions ?? []).filter(isBad)
  const tone = bad.length === 0 ? "good" : bad.some(({ status }) => status === "False") ? "bad" : "warn"
  return (
    <>
      <Badge tone={tone}>{stateText(policy)}</Badge> <Worded text={condition.message} />
    </>
  )
}

/** The most informative condition. */
function decisiveCondition(policy: Policy): Condition | undefined {
  const conditions = policy.status?.conditions ?? []
  return conditionOf(policy, "Ready") ?? conditionOf(policy, "Holds") ?? conditions.find(isBad) ?? conditions[0]
}

function stateText(policy: Policy): string {
  return decisiveCondition(policy)?.reason ?? "not checked yet"
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
