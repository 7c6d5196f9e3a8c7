// SPDX-License-Identifier: Apache-2.0

import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { script } from "../testing/script.js"

/** What a script says in a process of its own. */
function told(source: string): { readonly stdout: string; readonly stderr: string } {
  const whole = script(`import { settle, tuneEngine } from "./engine.ts"\n${source}`, import.meta.dirname)
  const { stdout, stderr } = spawnSync("node", ["--input-type=module", "-e", whole], { encoding: "utf8" })
  return { stdout, stderr }
}

/** Megabytes of the young generation after a load of objects that outlive a collection. */
function youngAfterLoad(before: string): number {
  const { stdout } = told(`
    import { getHeapSpaceStatistics } from "node:v8"
    ${before}
    const kept = []
    for (let n = 0; n < 4_000_000; n++) kept[n % 5_000] = { text: "kept " + n, pair: [n, n] }
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
    console.log(space_size / 1_048_576)`)
  return Number(stdout)
}

describe("the young generation", () => {
  it("stays as large as it is once it is to be small", () => {
    expect(youngAfterLoad("tuneEngine()")).toBeLessThan(youngAfterLoad(""))
  })
})

it("gives back what a start has left behind", () => {
  const { stdout } = told(`
    const held = () => process.memoryUsage().heapTotal / 1_048_576
    let left = []
    for (let n = 0; n < 3_000_000; n++) left[n % 200_000] = { n, pair: [n] }
    left = undefined
    const before = held()
    settle()
    console.log(JSON.stringify([before, held()]))`)
  const [before, after] = JSON.parse(stdout) as [number, number] // as the script has said it
  expect(after).toBeLessThan(before - 20)
})

it("asks for nothing that this Node does not know", () => {
  // V8 names on standard error what it does not know, and goes on.
  expect(told("tuneEngine(); settle(); console.log('ran')")).toEqual({ stdout: "ran\n", stderr: "" })
})
