// SPDX-License-Identifier: Apache-2.0
// The mesh in four figures: enforcement, denied requests, mutual TLS, invariants.

import type { ReactNode } from "react"
import type { Answer, EnforcedNote, ProxyReport, Readiness, TrafficMinute } from "../../api/answers.js"
import { conditionOf, type Policy } from "../../api/objects.js"
import { Badge, Mark } from "../../ui/mark.js"
import { count } from "../../ui/time.js"
import { Sparkline } from "./sparkline.js"
import { sumOf } from "./traffic-bars.js"

const MINUTES = 60

interface FiguresProps {
  readonly proxies: readonly Answer<ProxyReport>[] | undefined
  readonly enforced: EnforcedNote["enforced"]
  readonly minutes: readonly TrafficMinute[] | undefined
  readonly readiness: readonly Answer<Readiness>[] | undefined
  readonly invariants: readonly Policy[]
}

export function Figures({ proxies, enforced, minutes, readiness, invariants }: FiguresProps): ReactNode {
  return (
    <section className="figures" aria-label="Figures">
      <EnforcementFigure proxies={proxies} enforced={enforced} />
      <DeniedFigure minutes={minutes} />
      <MtlsFigure readiness={readiness} />
      <InvariantsFigure invariants={invariants} />
    </section>
  )
}

interface FigureProps {
  readonly label: string
  readonly note?: ReactNode
  readonly value: string
  readonly unit: string
  readonly children?: ReactNode
}

function Figure({ label, note, value, unit, children }: FigureProps): ReactNode {
  return (
    <div className="card figure">
      <div className="label">
        {label} {note}
      </div>
      <div className="value">
        {value} <small>{unit}</small>
      </div>
      {children}
    </div>
  )
}

function EnforcementFigure({ proxies, enforced }: Pick<FiguresProps, "proxies" | "enforced">): ReactNode {
  const lagging = proxies?.filter(({ spec }) => spec.behind > 0 || spec.rejection !== undefined).length ?? 0
  const all = proxies?.length
  return (
    <Figure
      label="Enforcement"
      note={
        all !== undefined &&
        all > 0 && (
          <Badge tone={lagging === 0 ? "good" : "warn"}>{lagging === 0 ? "in sync" : `${count(lagging)} lag`}</Badge>
        )
      }
      value={all === undefined ? "–" : count(all - lagging)}
      unit={all === undefined ? "" : `of ${count(all)} ${all === 1 ? "proxy" : "proxies"}`}
    >
      <p className="hint">
        {enforced === undefined
          ? "time to enforce not measured yet"
          : `${count(enforced.medianMs)} ms median to enforce`}
      </p>
    </Figure>
  )
}

function DeniedFigure({ minutes }: Pick<FiguresProps, "minutes">): ReactNode {
  const { allowed, denied } = sumOf(minutes ?? [])
  return (
    <Figure
      label={`Denied, last ${minutes === undefined || minutes.length >= MINUTES ? "hour" : `${minutes.length} min`}`}
      note={denied > 0 && <Badge tone="bad">{percent(denied, allowed + denied)}</Badge>}
      value={minutes === undefined ? "–" : count(denied)}
      unit={minutes === undefined ? "" : `of ${count(allowed + denied)}`}
    >
      <Sparkline
        values={[
          ...new Array<number>(Math.max(0, MINUTES - (minutes ?? []).length)).fill(0),
          ...(minutes ?? []).map(minute => minute.denied),
        ]}
      />
    </Figure>
  )
}

function MtlsFigure({ readiness }: Pick<FiguresProps, "readiness">): ReactNode {
  const calls = readiness?.reduce((sum, { spec }) => sum + spec.calls, 0) ?? 0
  const plaintext =
    readiness?.reduce((sum, { spec }) => sum + spec.plaintext.reduce((all, one) => all + one.count, 0), 0) ?? 0
  const share = calls === 0 ? undefined : Math.max(0, Math.round((1 - plaintext / calls) * 100))
  const waiting = readiness?.filter(({ spec }) => spec.state === "waiting").length ?? 0
  return (
    <Figure label="Mutual TLS" value={share === undefined ? "–" : String(share)} unit="% of requests">
      <progress aria-label="Requests with mutual TLS" value={share ?? 0} max={100} />
      <p className="hint">
        {share === undefined
          ? "No traffic observed yet"
          : waiting === 0
            ? "no workload receives plaintext"
            : `${count(waiting)} ${waiting === 1 ? "workload still gets" : "workloads still get"} plaintext`}
      </p>
    </Figure>
  )
}

function InvariantsFigure({ invariants }: Pick<FiguresProps, "invariants">): ReactNode {
  const holding = invariants.filter(one => conditionOf(one, "Holds")?.status === "True").length
  const broken = invariants.filter(one => conditionOf(one, "Holds")?.status === "False").length
  return (
    <Figure
      label="Invariants"
      value={count(holding)}
      unit={invariants.length === 0 ? "" : `of ${count(invariants.length)} proved`}
    >
      <p className="hint">
        {invariants.length === 0 && "No invariants yet"}
        {broken > 0 && <Mark tone="bad">{count(broken)} broken</Mark>}
        {invariants.length > 0 && holding === invariants.length && (
          <Mark tone="good">{holding === 1 ? "holds" : "all hold"} for every possible request</Mark>
        )}
        {broken === 0 && holding < invariants.length && (
          <Mark tone="warn">{count(invariants.length - holding)} not decided</Mark>
        )}
      </p>
    </Figure>
  )
}

function percent(part: number, all: number): string {
  return `${((part / Math.max(1, all)) * 100).toFixed(1)} %`
}
