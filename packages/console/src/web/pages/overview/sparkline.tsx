// SPDX-License-Identifier: Apache-2.0
// A line chart without axes, beside a figure with the same information.

import type { ReactNode } from "react"

const WIDTH = 200
const HEIGHT = 26

export function Sparkline({ values }: { readonly values: readonly number[] }): ReactNode {
  const most = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, at) => `${at * step},${HEIGHT - 2 - (value / most) * (HEIGHT - 4)}`)
  return (
    <svg className="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(" ")} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}
