// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { stolenShare, workersFor } from "./workers.js"

it.each([
  ["a machine of its own", "cpu  300 0 100 9000 50 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 900 0 0\n", 0, 6],
  ["one of which a quarter is another's", "cpu  300 0 100 100 0 0 0 133 0 0\n", 0.25, 5],
  ["one of which three quarters are", "cpu  300 50 100 0 0 10 40 1500 0 0\n", 0.75, 3],
  ["one that tells nothing", "", 0, 6],
])("gives %s as many workers as it has time for", (_, stat, stolen, workers) => {
  expect(stolenShare(stat)).toBeCloseTo(stolen, 2)
  expect(workersFor(stolenShare(stat))).toBe(workers)
})
