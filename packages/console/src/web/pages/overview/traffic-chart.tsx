// SPDX-License-Identifier: Apache-2.0
// The chart of requests per minute. It is a canvas: it reads its colours from elements that the stylesheet colours, and is
// redrawn when the theme changes.

import { type ReactNode, useEffect, useRef } from "react"
import uPlot from "uplot"
import type { TrafficMinute } from "../../api/answers.js"
import { onThemeChange } from "../../shell/theme.js"
import { count, minuteOf } from "../../ui/time.js"
import { hourOf, type Stacks, stacksOf } from "./traffic-bars.js"
import "uplot/dist/uPlot.min.css"

interface TrafficChartProps {
  readonly minutes: readonly TrafficMinute[]
  /** Called with the index of the minute under the pointer. */
  readonly point: (at: number | undefined) => void
}

const HEIGHT = 148
const BAR_WIDTH = 0.82
const MOST_BAR_PX = 24
const AXIS = { font: "11px Inter Variable", ticks: { show: false } } as const
/** The interval of the labels on the time axis. */
const QUARTER_SECONDS = 900
const TICK_PX = 34
/** Room for half of the time axis's last label. */
const END_PX = 26

export default function TrafficChart({ minutes, point }: TrafficChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot>(undefined)
  const stacks = useRef<Stacks>(stacksOf(minutes))
  const pointing = useRef(point)
  pointing.current = point
  useEffect(() => {
    const at = place.current
    if (at === null) return
    const colour = (name: string) => () => getComputedStyle(at.querySelector(`.${name}`) ?? at).color
    const drawn = new uPlot(optionsOf(at.clientWidth, colour, stacks, pointing), dataOf(stacks.current), at)
    chart.current = drawn
    const resized = new ResizeObserver(() => drawn.setSize({ width: at.clientWidth, height: HEIGHT }))
    resized.observe(at)
    const unsubscribe = onThemeChange(() => drawn.redraw())
    // The labels use the page's font, which may load after the first drawing.
    void document.fonts.ready.then(() => drawn.redraw())
    return () => {
      unsubscribe()
      resized.disconnect()
      drawn.destroy()
    }
  }, [])
  useEffect(() => {
    stacks.current = stacksOf(minutes)
    chart.current?.setData(dataOf(stacks.current))
  }, [minutes])
  return (
    <div className="plot" ref={place}>
      <i className="allowed" />
      <i className="denied" />
      <i className="text" />
      <i className="line" />
    </div>
  )
}

/** The whole bar comes first: the allowed part covers it, and the denied part stays visible. */
function dataOf({ times, all, allowed }: Stacks): uPlot.AlignedData {
  return [times, all, allowed]
}

function optionsOf(
  width: number,
  colour: (name: string) => () => string,
  stacks: { readonly current: Stacks },
  pointing: { readonly current: TrafficChartProps["point"] },
): uPlot.Options {
  const bars = (name: string): uPlot.Series => ({
    fill: colour(name),
    width: 0,
    points: { show: false },
    ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [BAR_WIDTH, MOST_BAR_PX], align: 1 }) }),
  })
  return {
    ...{ width, height: HEIGHT, padding: [8, END_PX, 0, 0], legend: { show: false } },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { range: () => hourOf(stacks.current) }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
    series: [{}, bars("denied"), bars("allowed")],
    axes: [
      {
        ...{ ...AXIS, size: 26, stroke: colour("text"), grid: { show: false } },
        splits: (_, __, from, to) => quartersIn(from, to),
        values: (_, splits) => splits.map(at => minuteOf(at * 1_000)),
      },
      {
        ...{ ...AXIS, size: 44, space: TICK_PX, stroke: colour("text"), grid: { stroke: colour("line"), width: 1 } },
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000],
        values: (_, splits) => splits.map(count),
      },
    ],
    hooks: {
      setCursor: [drawn => pointing.current(minuteAt(drawn, stacks.current))],
    },
  }
}

/** The bar under the pointer. uPlot's own index is the nearest start of a minute, which may be that of the next one. */
function minuteAt(drawn: uPlot, { times }: Stacks): number | undefined {
  const { left = -1 } = drawn.cursor
  if (left < 0) return undefined
  const pointed = drawn.posToVal(left, "x")
  const at = times.findLastIndex(time => time <= pointed)
  return at < 0 ? undefined : at
}

function quartersIn(from: number, to: number): number[] {
  const first = Math.ceil(from / QUARTER_SECONDS) * QUARTER_SECONDS
  const many = Math.max(0, Math.floor((to - first) / QUARTER_SECONDS) + 1)
  return Array.from({ length: many }, (_, at) => first + at * QUARTER_SECONDS)
}
