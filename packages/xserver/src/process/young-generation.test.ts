// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const MODULE = fileURLToPath(new URL("young-generation.ts", import.meta.url))

/** Megabytes of the young generation after a load of objects that outlive a collection, in a process of its own. */
function youngAfterLoad(before: string): number {
  const script = `
    import { keepYoungGenerationSmall } from ${JSON.stringify(MODULE)}
    import { getHeapSpaceStatistics } from "node:v8"
    ${before}
    const kept = []
    for (let n = 0; n < 4_000_000; n++) kept[n % 5_000] = { text: "kept " + n, pair: [n, n] }
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
    console.log(space_size / 1_048_576)`
  return Number(execFileSync("node", ["--import", "tsx", "--input-type=module", "-e", script], { encoding: "utf8" }))
}

describe("the young generation", () => {
  it("stays as large as it is once it is to be small", () => {
    expect(youngAfterLoad("keepYoungGenerationSmall()")).toBeLessThan(youngAfterLoad(""))
  })
})
