// SPDX-License-Identifier: Apache-2.0
// Callers influence how many large buffers a process holds. The kernel allows a process 65,530 mappings, and V8 aborts
// when it cannot get another one.
// @module-tag needs/linux

import { execFileSync } from "node:child_process"
import { expect, it } from "vitest"
import { CONTROL_PLANE_BUFFERS, type LargeBuffers } from "./large-buffers.js"

const LIBC = JSON.stringify(new URL("./libc.ts", import.meta.url))
const MODULE = JSON.stringify(new URL("./large-buffers.ts", import.meta.url))

/** Holds many buffers, frees all but one in every few, and prints how much memory the process has left. */
const HOLDER = `
  import { readFileSync } from "node:fs"
  const { setting, trims, bytes, count, every, used } = JSON.parse(process.argv[1])
  const { mapLargeBuffers } = await import(${MODULE})
  const { loadLibc } = await import(${LIBC})
  if (setting !== undefined) await mapLargeBuffers(setting)
  const before = process.memoryUsage().arrayBuffers
  // Global, because V8 collects locals that the rest of a function does not use.
  const kept = (globalThis.kept = [])
  for (let n = 0; n < count; n++) kept.push(Buffer.allocUnsafeSlow(bytes))
  if (used) for (const buffer of kept) buffer.fill(1)
  for (let n = 0; n < count; n++) if (n % every !== 0) kept[n] = undefined
  // A V8 thread frees what a collection has found.
  const held = () => process.memoryUsage().arrayBuffers - before
  for (let tries = 0; held() > (1.1 * bytes * count) / every; tries++) {
    if (tries === 1_000) throw new Error("waited for V8 to free the buffers; it holds " + held() + " bytes")
    gc()
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  if (trims) (await loadLibc()).trimHeap()
  const mappings = readFileSync("/proc/self/maps", "latin1").split("\\n").length
  console.log(JSON.stringify({ mappings, resident: process.memoryUsage.rss() }))
`

interface Held {
  readonly setting?: LargeBuffers
  /** Whether the heap is trimmed at the end. */
  readonly trims?: boolean
  readonly bytes: number
  readonly count: number
  readonly every: number
  /** Whether the buffers are written to: otherwise they are mapped but take no memory. */
  readonly used?: boolean
}

function hold(held: Held): { readonly mappings: number; readonly resident: number } {
  const args = ["--import", "tsx", "--expose-gc", "--input-type=module", "-e", HOLDER, JSON.stringify(held)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }))
}

it.each([
  [
    "large buffers with their own mappings",
    CONTROL_PLANE_BUFFERS.threshold + 1_024,
    { setting: CONTROL_PLANE_BUFFERS },
  ],
  ["free memory of a trimmed heap", 20_000, { trims: true }],
] as const)("returns %s to the system, even between others in use", (_, bytes, how) => {
  const held = { bytes, count: 4_000, every: 64, used: true }
  const half = (held.bytes * held.count) / 2
  // With neither, glibc keeps the freed memory.
  expect(hold(held).resident - hold({ ...held, ...how }).resident).toBeGreaterThan(half)
})

it("keeps the number of mappings below the limit, however many buffers it holds", () => {
  const { threshold, most } = CONTROL_PLANE_BUFFERS
  // Half of the buffers stay: more than may be mapped, and fewer than the kernel would refuse.
  const held = { bytes: threshold + 1_024, count: Math.ceil(2.4 * most), every: 2 }
  expect(hold({ ...held, setting: { threshold, most: 60_000 } }).mappings).toBeGreaterThan(most)
  expect(hold({ ...held, setting: CONTROL_PLANE_BUFFERS }).mappings).toBeLessThan(most)
})
