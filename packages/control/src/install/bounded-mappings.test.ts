// SPDX-License-Identifier: Apache-2.0
// Buffers that are mapped by themselves, of which callers choose how many there are: the kernel gives a process 65,530 mappings, and
// V8 ends one that gets no further one.

import { execFileSync } from "node:child_process"
import { PROXY_ENVIRONMENT } from "@merlon/xds/runtime"
import { expect, it } from "vitest"
import { SERVE_ENVIRONMENT } from "./serve-environment.js"

/** Holds many buffers, and lets go of every other, so that what is mapped lies apart. */
const HOLDER = `
  const [bytes, count] = process.argv.slice(1).map(Number)
  const kept = []
  for (let n = 0; n < count; n++) kept.push(Buffer.allocUnsafeSlow(bytes))
  for (let n = 0; n < count; n += 2) kept[n] = undefined
  // The second waits for what the first has found.
  gc()
  gc()
  console.log(require("node:fs").readFileSync("/proc/self/maps", "latin1").split("\\n").length)
`

function mapsOf(environment: NodeJS.ProcessEnv, buffers: number): number {
  const bytes = Number(environment.MALLOC_MMAP_THRESHOLD_) + 1_024
  const args = ["--expose-gc", "-e", HOLDER, String(bytes), String(buffers)]
  return Number(execFileSync(process.execPath, args, { env: environment, encoding: "utf8" }))
}

it.each([
  ["a proxy", PROXY_ENVIRONMENT],
  ["a control plane", SERVE_ENVIRONMENT],
] as const)("%s has no more of them than it may, however many buffers it holds", (_, environment) => {
  const { MALLOC_MMAP_MAX_, ...unbounded } = environment
  const most = Number(MALLOC_MMAP_MAX_)
  // Half of them stay: more than may be mapped, and fewer than the kernel would refuse.
  const buffers = Math.ceil(2.4 * most)
  // Or the test would say nothing.
  expect(mapsOf(unbounded, buffers)).toBeGreaterThan(most)
  expect(mapsOf(environment, buffers)).toBeLessThan(most)
})
