// SPDX-License-Identifier: Apache-2.0
// The map's edges as a table.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { Columns } from "../../ui/columns.js"
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
  const shown = [...edges].sort((a, b) => b.refused - a.refused || b.allowed - a.allowed)
  return (
    <>
      <table aria-label="Map as a table">
        <Columns names={["Caller", "Called", "Transport", "Allowed", "Denied", "Per minute", "Details"]} />
        <tbody>
          {shown.slice(0, MOST).map(edge => (
            <EdgeRow key={edgeKey(edge)} edge={edge} rate={rate(edge)} open={open} />
          ))}
        </tbody>
      </table>
      {shown.length > MOST && (
        <div className="padded">
          <More shown={MOST} of={shown.length} />
        </div>
      )}
    </>
  )
}

interface EdgeRowProps extends Pick<EdgeTableProps, "open"> {
  readonly edge: Edge
  readonly rate: Rate | undefined
}

function EdgeRow({ edge, rate, open }: EdgeRowProps): ReactNode {
  const { from, to, allowed, refused, plaintext, plaintextUntil, isMtls } = edge
  return (
    <tr>
      <th scope="row">{from.includes("/") ? <Link href={`/map/${from}`}>{from}</Link> : from}</th>
      <td>
        <Link href={`/map/${to}`}>{to}</Link>
      </td>
      <td>
        {isMtls ? <Badge tone="good">mTLS</Badge> : <Badge tone="warn">{count(plaintext)} in plaintext</Badge>}
        {isMtls && plaintextUntil !== undefined && (
          <>
            {" "}
            plaintext until <Ago at={plaintextUntil} />
          </>
        )}
      </td>
      <td>{count(allowed)}</td>
      <td>{refused === 0 ? "0" : <Mark tone="bad">{count(refused)}</Mark>}</td>
      <td>{rate === undefined ? "…" : count(Math.round(rate.allowed + rate.refused))}</td>
      <td className="tight">
        <button type="button" onClick={() => open(edge)}>
          Details
          <span className="unseen">
            {" "}
            of {from} to {to}
          </span>
        </button>
      </td>
    </tr>
  )
}
