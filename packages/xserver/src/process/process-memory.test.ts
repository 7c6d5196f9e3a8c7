// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/linux
import { execFileSync } from "node:child_process"
import { expect, it } from "vitest"

const MODULE = JSON.stringify(new URL("./process-memory.ts", import.meta.url))

/**
 * Allocates 128 MiB in buffers, drops them, allocates nothing more, and prints the remaining size once it is less than
 * half.
 */
const LOADED = `
  const { keepMemorySmall } = await import(${MODULE})
  await keepMemorySmall(50)
  let held = Array.from({ length: 2_048 }, () => Buffer.allocUnsafeSlow(65_536).fill(1))
  // The buffers are old enough that V8 frees them only in a full collection.
  const until = performance.now() + 300
  while (performance.now() < until) Buffer.alloc(1_000)
  const { rss } = process.memoryUsage()
  held = undefined
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() > rss - 100 * 1_048_576) return
    clearInterval(timer)
    console.log("given back")
  }, 100)
`

it("frees the buffers of a flood although nothing is allocated any more", () => {
  const args = ["--import", "tsx", "--conditions=@merlon/source", "--input-type=module", "-e", LOADED]
  expect(execFileSync(process.execPath, args, { encoding: "utf8", timeout: 30_000 })).toBe("given back\n")
})
