// SPDX-License-Identifier: Apache-2.0
// How many files are tested at once. Tests of whole systems wait longer than they work, so more than there are cores; fewer where
// others take a part of the machine: tests work for longer then and wait for no longer, and more of them at once would only keep
// each other's programs from being in time.

import { readFileSync } from "node:fs"

/** Three for each core of a small machine: with four of them a seventh of two cores' time was nobody's. */
const MOST = 6
const LEAST = 3

export function workers(): number {
  return workersFor(stolenShare(sinceStart()))
}

export function workersFor(stolen: number): number {
  return Math.max(LEAST, Math.round(MOST * (1 - stolen)))
}

/** Of the time that processors of this machine had work for, how much another one had of them. */
export function stolenShare(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = (
    /^cpu +([\d ]+)$/m.exec(stat)?.[1] ?? ""
  )
    .split(" ")
    .map(Number)
  const wanted = user + nice + system + interrupts + softInterrupts + stolen
  return wanted === 0 ? 0 : stolen / wanted
}

/** As Linux counts it; elsewhere nobody tells. */
function sinceStart(): string {
  try {
    return readFileSync("/proc/stat", "utf8")
  } catch {
    return ""
  }
}
