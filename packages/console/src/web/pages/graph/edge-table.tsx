// SPDX-License-Identifier: Apache-2.0
// The map's edges as a table.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Badge, Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"
import type { Edge } from "./edges.js"
import { edgeKey, type Rate } from "./rates.js"

interface EdgeTableProps {
  readonly edges: readonly Edge[]
  readonly rate: (edge: Edge) => Rate | undefined
  readonly open: (edge: Edge) => void
}

const MOST = 150

export function EdgeTable({ edges, rate, open }: EdgeTableProps): ReactNode {
  // Denied calls first, then the busiest.
  const rows = [...edges].sort((a, b) => b.denied - a.denied || b.allowed - a.allowed)
  return (
    <>
      <DataTable label="Map as a table" columns={columnsOf(rate, open)} rows={rows} keyOf={edgeKey} most={MOST} />
      {rows.length > MOST && (
        <div className="padded">
          <More shown={MOST} of={rows.length} />
        </div>
      )}
    </>
  )
}

function columnsOf(rate: EdgeTableProps["rate"], open: EdgeTableProps["open"]): readonly Column<Edge>[] {
  const perMinute = (edge: Edge): number | undefined => {
    const found = rate(edge)
    return found && Math.round(found.allowed + found.denied)
  }
  return [
    { name: "Caller", by: ({ from }) => from, cell: ({ from }) => <ServiceLink name={from} /> },
    { name: "Called", by: ({ to }) => to, cell: ({ to }) => <ServiceLink name={to} /> },
    { name: "Transport", by: ({ isMtls }) => Number(isMtls), cell: edge => <Transport edge={edge} /> },
    { name: "Allowed", kind: "number", by: ({ allowed }) => allowed, cell: ({ allowed }) => count(allowed) },
    {
      ...{ name: "Denied", kind: "number", by: ({ denied }) => denied },
      cell: ({ denied }) => (denied === 0 ? "0" : <Mark tone="bad">{count(denied)}</Mark>),
    },
    {
      ...{ name: "Per minute", kind: "number", by: perMinute },
      cell: edge => {
        const found = perMinute(edge)
        return found === undefined ? "…" : count(found)
      },
    },
    {
      ...{ name: "Details", kind: "tight" },
      cell: edge => (
        <button type="button" onClick={() => open(edge)}>
          Details
          <span className="visually-hidden">
            {" "}
            of {edge.from} to {edge.to}
          </span>
        </button>
      ),
    },
  ]
}

/** Callers outside the mesh have no page. */
function ServiceLink({ name }: { readonly name: string }): ReactNode {
  return name.includes("/") ? <Link href={`/map/${name}`}>{name}</Link> : name
}

function Transport({ edge: { isMtls, plaintext, plaintextUntil } }: { readonly edge: Edge }): ReactNode {
  return (
    <>
      {isMtls ? <Badge tone="good">mTLS</Badge> : <Badge tone="warn">{count(plaintext)} in plaintext</Badge>}
      {isMtls && plaintextUntil !== undefined && (
        <>
          {" "}
          plaintext until <Ago at={plaintextUntil} />
        </>
      )}
    </>
  )
}
