// SPDX-License-Identifier: Apache-2.0
// Measures CPU time, not wall time, because machines are shared and noisy. Uses the median over rounds, so that one
// unlucky round does not matter.

import { existsSync } from "node:fs"

export interface Measured {
  readonly nanoseconds: number
}

interface Work<T> {
  /** Operations in one `run`. */
  readonly batch: number
  /** Called for each round and not counted. */
  readonly prepare: () => T
  readonly run: (prepared: T) => void
}

const WARM_UP_MS = 300
const MEASURE_MS = 700

export function measure<T>({ batch, prepare, run }: Work<T>): Measured {
  const rounds: number[] = []
  const started = performance.now()
  for (;;) {
    const elapsed = performance.now() - started
    if (elapsed > WARM_UP_MS + MEASURE_MS && rounds.length >= 20) break
    const prepared = prepare()
    const before = process.cpuUsage()
    run(prepared)
    const { user, system } = process.cpuUsage(before)
    if (elapsed > WARM_UP_MS) rounds.push(((user + system) * 1_000) / batch)
  }
  rounds.sort((a, b) => a - b)
  return { nanoseconds: Math.round(rounds[Math.floor(rounds.length / 2)] ?? Number.NaN) }
}

export function ratio(ours: number | undefined, theirs: number | undefined): number {
  return ours === undefined || theirs === undefined ? Number.NaN : Number((ours / theirs).toPrecision(2))
}

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [
    head,
    ...rows.map(row => row.map(cell => (Number.isInteger(cell) ? cell.toLocaleString("en") : String(cell)))),
  ]
  const widths = head.map((_, column) => Math.max(...cells.map(row => (row[column] ?? "").length)))
  return cells.map(row => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")).join("\n")
}

/** The value of a command-line option: `--name=value`. */
export function option(name: string): string | undefined {
  return process.argv.find(value => value.startsWith(`--${name}=`))?.split("=")[1]
}

/** Formats a figure for people. */
export function shown(figure: number): string {
  return String(Number(figure.toPrecision(figure < 10 ? 2 : 3)))
}

export function requireSchedstat(bench: string): void {
  if (existsSync("/proc/self/schedstat")) return
  console.error(`${bench} reads what processes use from /proc/PID/task/*/schedstat, which this system does not have`)
  process.exit(2)
}
