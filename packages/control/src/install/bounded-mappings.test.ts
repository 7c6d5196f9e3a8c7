// SPDX-License-Identifier: Apache-2.0
// Buffers that are mapped by themselves, of which callers choose how many there are: the kernel gives a process 65,530 mappings, and
// V8 ends one that gets no further one.

import { execFileSync } from "node:child_process"
import { MOST_MAPPED, PROXY_ENVIRONMENT } from "@merlon/xds"
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

function mapsOf(environment: { readonly MALLOC_MMAP_THRESHOLD_: string }): number {
  const { MALLOC_MMAP_MAX_: _, ...without } = { MALLOC_MMAP_MAX_: "", ...environment }
  const bytes = String(Number(environment.MALLOC_MMAP_THRESHOLD_) + 1_024)
  const holding = (env: NodeJS.ProcessEnv): number =>
    Number(
      execFileSync(process.execPath, ["--expose-gc", "-e", HOLDER, bytes, String(3 * Number(MOST_MAPPED))], {
        env,
        encoding: "utf8",
      }),
    )
  // Or the test would say nothing: without the bound there are more.
  expect(holding(without)).toBeGreaterThan(Number(MOST_MAPPED))
  return holding(environment)
}

it.each([
  ["a proxy", PROXY_ENVIRONMENT],
  ["a control plane", SERVE_ENVIRONMENT],
] as const)("%s has no more of them than it may, however many buffers it holds", (_, environment) => {
  expect(mapsOf(environment)).toBeLessThan(Number(MOST_MAPPED))
})
