// SPDX-License-Identifier: Apache-2.0
// The README's five minutes as an animated terminal, generated from the page's own code blocks, whose output a test
// compares with the programs. Readers who prefer reduced motion see a single static scene.

import { blocks } from "../markdown-blocks.js"

export const SESSION_PICTURE = "docs/images/session.svg"

const COLUMNS = 104
const COLUMN = 8.43
const ROW = 20
const MARGIN = 18
const TITLE_BAR = 34
/** In seconds. */
const TYPING = 0.9
const PAUSE = 0.5
const READING_A_ROW = 0.45
const READING = 2.2

interface Row {
  readonly text: string
  readonly kind: "command" | "continued" | "output"
  readonly look: string
}

interface Scene {
  readonly rows: readonly Row[]
  /** Number of rows that are typed. */
  readonly typed: number
}

export function sessionPicture(readme: string): string {
  const scenes = scenesOf(readme)
  const durations = scenes.map(({ rows, typed }) => TYPING * typed + PAUSE + READING_A_ROW * rows.length + READING)
  const total = durations.reduce((sum, each) => sum + each, 0)
  const height = TITLE_BAR + MARGIN * 2 + Math.max(...scenes.map(({ rows }) => rows.length)) * ROW
  const width = Math.ceil(COLUMNS * COLUMN + MARGIN * 2)
  let begin = 0
  const drawn = scenes.map((scene, index) => {
    const text = drawScene(scene, { index, begin, end: begin + (durations[index] ?? 0), total })
    begin += durations[index] ?? 0
    return text
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
  <title id="title">Five minutes with Merlon in a terminal</title>
  <desc id="desc">${escaped(scenes.map(({ rows }) => rows.map(({ text }) => text).join(" ")).join(" "))}</desc>
  <style>
    text { white-space: pre; fill: #cbd5e1 }
    .command { fill: #f8fafc } .prompt, .good { fill: #4ade80 } .bad { fill: #f87171 } .mind { fill: #fbbf24 }
    .scene { opacity: 0; animation: ${total.toFixed(1)}s step-end infinite }
    .typed { animation: ${total.toFixed(1)}s linear infinite }
    .said { animation: ${total.toFixed(1)}s step-end infinite }
${drawn.map(({ style }) => style).join("\n")}
    @media (prefers-reduced-motion: reduce) { .scene, .typed, .said { animation: none } .still { opacity: 1 } }
  </style>
  <rect width="${width}" height="${height}" rx="10" fill="#0f172a"/>
  <circle cx="22" cy="18" r="6" fill="#f87171"/><circle cx="42" cy="18" r="6" fill="#fbbf24"/><circle cx="62" cy="18" r="6" fill="#4ade80"/>
${drawn.map(({ shapes }) => shapes).join("\n")}
</svg>
`
}

/** Commands that print something, with their output. */
function scenesOf(readme: string): readonly Scene[] {
  const [, rest = ""] = readme.split("\n## Five minutes\n")
  const [section = ""] = rest.split("\n## ")
  const found = blocks(section)
  return found.flatMap(({ language, text }, index) => {
    const next = found[index + 1]
    if (language !== "sh" || next?.language !== "text") return []
    const lines = (part: string): readonly string[] => part.trimEnd().split("\n")
    const typed = lines(text).flatMap(line => wrapped(`$ ${line}`, "command"))
    return { rows: [...typed, ...lines(next.text).flatMap(line => wrapped(line, "output"))], typed: typed.length }
  })
}

function wrapped(line: string, kind: "command" | "output"): readonly Row[] {
  const rows: Row[] = []
  const look = kind === "command" ? "typed command" : `said ${colour(line)}`
  for (let rest = line; ; ) {
    const at = rest.length <= COLUMNS ? rest.length : breakOf(rest)
    const isFirst = rows.length === 0
    rows.push({ text: rest.slice(0, at), kind: kind === "command" && !isFirst ? "continued" : kind, look })
    if (at === rest.length) return rows
    rest = `    ${rest.slice(at).trimStart()}`
  }
}

function breakOf(line: string): number {
  const space = line.lastIndexOf(" ", COLUMNS)
  return space > COLUMNS / 2 ? space : COLUMNS
}

interface Times {
  readonly index: number
  readonly begin: number
  readonly end: number
  readonly total: number
}

function drawScene({ rows, typed }: Scene, { index, begin, end, total }: Times) {
  const percent = (seconds: number): string => `${((seconds / total) * 100).toFixed(2)}%`
  const styles = [
    `    @keyframes scene${index} { 0% { opacity: 0 } ${percent(begin)} { opacity: 1 } ${percent(end)}, 100% { opacity: 0 } }`,
  ]
  const shapes: string[] = []
  const typedBy = begin + TYPING * typed
  for (const [row, { text, kind, look }] of rows.entries()) {
    const y = TITLE_BAR + MARGIN + row * ROW
    const isCommand = kind !== "output"
    const name = isCommand ? `typed${index}-${row}` : `said${index}`
    const from = begin + TYPING * row
    if (isCommand)
      styles.push(
        `    @keyframes ${name} { 0%, ${percent(from)} { clip-path: inset(0 100% 0 0) } ${percent(from + TYPING * 0.8)}, 100% { clip-path: inset(0 0 0 0) } }`,
      )
    const shown = kind === "command" ? `<tspan class="prompt">$</tspan>${escaped(text.slice(1))}` : escaped(text)
    shapes.push(`    <text x="${MARGIN}" y="${y}" class="${look}" style="animation-name: ${name}">${shown}</text>`)
  }
  styles.push(`    @keyframes said${index} { 0% { opacity: 0 } ${percent(typedBy + PAUSE)}, 100% { opacity: 1 } }`)
  const still = rows.some(({ text }) => text.includes("nearest rule")) ? " still" : ""
  return {
    style: styles.join("\n"),
    shapes: `  <g class="scene${still}" style="animation-name: scene${index}">\n${shapes.join("\n")}\n  </g>`,
  }
}

function colour(output: string): string {
  if (/^(40[13]|000)$|^broken:|is allowed by rule/.test(output)) return "bad"
  if (/^200$|enforced by|\(proved\)|%$/.test(output)) return "good"
  if (/newly allowed|nearest rule/.test(output)) return "mind"
  return "plain"
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")
}
