// SPDX-License-Identifier: Apache-2.0
// Invariants and whether they hold, and findings of the analysis in valid policies.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { kindNamed } from "../../api/kinds.js"
import { conditionOf, keyOf, type Policy } from "../../api/objects.js"
import { useAllPolicies } from "../../api/queries.js"
import { useMayWrite } from "../../api/rights.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { DisabledButton } from "../../ui/disabled-button.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, type Tone } from "../../ui/mark.js"
import { Ago } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { Findings } from "./findings.js"

const NEW = "/policies/new?template=invariant"

export function Invariants(): ReactNode {
  const namespace = useNamespace()
  const kind = useAllPolicies().find(({ entry }) => entry.kind === "PolicyInvariant")
  const mayWrite = useMayWrite(kindNamed("PolicyInvariant"), namespace)
  return (
    <>
      <PageHead
        title="Invariants"
        sub="Merlon proves each for every possible request, and rejects changes that break one."
      >
        {mayWrite !== false && (
          <Link className="button primary" href={NEW} hidden={mayWrite === undefined}>
            Add an invariant
          </Link>
        )}
        {mayWrite === false && (
          <DisabledButton label="Add an invariant">
            Adding invariants needs the role <code>admin</code>.
          </DisabledButton>
        )}
      </PageHead>
      {kind !== undefined && (
        <Card title="Verdicts" flush>
          <Loaded query={kind.query}>
            {all => (
              <Verdicts invariants={all.filter(one => isIn(namespace, keyOf(one)))} mayWrite={mayWrite === true} />
            )}
          </Loaded>
        </Card>
      )}
      {/* Shown once the verdicts above have loaded, since their height is not known before. */}
      <div hidden={kind?.query.isPending}>
        <Findings />
      </div>
    </>
  )
}

const COLUMNS: readonly Column<Policy>[] = [
  {
    name: "Invariant",
    by: keyOf,
    cell: one => <Link href={`/policies/PolicyInvariant/${keyOf(one)}`}>{keyOf(one)}</Link>,
  },
  {
    name: "Verdict",
    by: one => verdictOf(one)[1],
    cell: one => {
      const [tone, word] = verdictOf(one)
      return <Badge tone={tone}>{word}</Badge>
    },
  },
  { name: "Message", cell: one => <Worded text={conditionOf(one, "Holds")?.message} /> },
  {
    ...{ name: "Since", kind: "tight", by: one => conditionOf(one, "Holds")?.lastTransitionTime },
    cell: one => <Ago at={conditionOf(one, "Holds")?.lastTransitionTime} />,
  },
]

function verdictOf(invariant: Policy): readonly [Tone, string] {
  const status = conditionOf(invariant, "Holds")?.status
  if (status === "True") return ["good", "holds"]
  return status === "False" ? ["bad", "broken"] : ["warn", "not decided"]
}

interface VerdictsProps {
  readonly invariants: readonly Policy[]
  readonly mayWrite: boolean
}

function Verdicts({ invariants, mayWrite }: VerdictsProps): ReactNode {
  if (invariants.length === 0) {
    return (
      <Empty title="No invariants yet">
        {mayWrite ? <Link href={NEW}>Add one</Link> : "Once there is one"}, and Merlon rejects any change that would
        break it.
      </Empty>
    )
  }
  return <DataTable columns={COLUMNS} rows={invariants} keyOf={keyOf} />
}
