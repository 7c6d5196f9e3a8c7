// SPDX-License-Identifier: Apache-2.0
// Loaded before each file by `npm run test:cpu`: writes down what the file cost in seconds of CPU, its own and those of the
// processes it waited for. How long a file took depends on the machine; this, hardly. What runs on by itself, as a mesh in
// the background, is not in it.

import { appendFileSync, mkdirSync, readFileSync } from "node:fs"
import { relative } from "node:path"
import { afterAll, expect } from "vitest"

const OUT = ".cache/cpu-seconds.txt"
const TICKS_PER_SECOND = 100

interface Spent {
  readonly own: number
  readonly children: number
}

/** See proc_pid_stat(5); the name before the bracket may hold anything. */
function spent(): Spent {
  const stat = readFileSync("/proc/self/stat", "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const seconds = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND
  return { own: seconds(11), children: seconds(13) }
}

const before = spent()

afterAll(() => {
  const after = spent()
  const figures = [after.own - before.own, after.children - before.children].map(one => one.toFixed(2).padStart(7))
  mkdirSync(".cache", { recursive: true })
  appendFileSync(OUT, `${figures.join(" ")} ${relative(process.cwd(), expect.getState().testPath ?? "")}\n`)
})
