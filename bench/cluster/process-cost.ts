// SPDX-License-Identifier: Apache-2.0
//
// CPU time and resident memory of other processes, as Linux counts them. NaN on other systems.

import { readFileSync } from "node:fs"

/** Linux reports CPU time in hundredths of a second on every platform that Node supports. */
const TICK_US = 10_000

export function cpuMicroseconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = read(`/proc/${pid}/stat`)
    // The second field is the name in parentheses and may contain spaces.
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
    return sum + (Number(fields?.[11]) + Number(fields?.[12])) * TICK_US
  }, 0)
}

export function residentKilobytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`) ?? "")?.[1])
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
