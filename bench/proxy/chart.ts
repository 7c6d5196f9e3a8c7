// SPDX-License-Identifier: Apache-2.0
// Draws the figures for the docs: one group of bars per kind of work, CPU per request. A handshake costs a hundred
// times as much as a request, so each group has its own scale.

import type { Row } from "./rounds.js"

const WIDTH = 860
const LABEL = 150
const BAR = 14
const COLORS: Readonly<Record<string, string>> = {
  xserver: "#1d6f5c",
  HAProxy: "#8aa6c1",
  Envoy: "#a893c4",
  nginx: "#c1b58a",
  "node:http": "#c18a8a",
}

export function chart(rows: readonly Row[]): string {
  const scenarios = [...new Set(rows.map(row => row.scenario))]
  const parts: string[] = []
  let y = 30
  for (const scenario of scenarios) {
    parts.push(`<text x="${LABEL - 8}" y="${y + BAR - 2}" text-anchor="end" font-weight="600">${scenario}</text>`)
    const group = rows.filter(row => row.scenario === scenario)
    const largest = Math.max(...group.map(row => row.cpuMicroseconds))
    for (const row of group) {
      const width = Math.max(2, ((WIDTH - LABEL - 170) * row.cpuMicroseconds) / largest)
      // Ours on any version of Node.
      const color = COLORS[row.proxy.replace(/, Node \d+$/, "")] ?? "#888"
      parts.push(`<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 2}" fill="${color}"/>`)
      parts.push(
        `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + BAR - 3}">${row.cpuMicroseconds} µs ${row.proxy}</text>`,
      )
      y += BAR
    }
    y += 12
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" font-family="system-ui, sans-serif" font-size="11" fill="#333">
<title>CPU per request of each proxy, by kind of work</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LABEL}" y="18" font-size="13" font-weight="600">CPU per request, one thread, the same work in the same run (each group has its own scale)</text>
${parts.join("\n")}
</svg>
`
}
