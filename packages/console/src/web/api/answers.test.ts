// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { isCutShort } from "./answers.js"

it.each([
  ["a proof that was not decided", { result: "undecided", groups: [] }, true],
  ["recorded calls that were not tried", { result: "different", touched: { calls: 0, shapes: [], untried: 2 } }, true],
  ["an analysis that stopped early", { complete: false, findings: [] }, true],
  ["a proof", { result: "different", touched: { calls: 0, shapes: [], untried: 0 } }, false],
  ["an older control plane's answer", { result: "equal", touched: { calls: 0, shapes: [] } }, false],
  ["a finished analysis", { complete: true, findings: [] }, false],
  ["no answer yet", undefined, false],
])("%s is requested again: %#", (_, answer, again) => {
  expect(isCutShort(answer)).toBe(again)
})
