// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { meshConfig } from "./config.js"
import { meshNames } from "./names.js"

const modeOf = (mesh: string, received?: "NONE") =>
  meshConfig({ names: meshNames({ mesh }), pathNormalization: received }).pathNormalization

it("merges slashes by default, but not in a mesh called istio", () => {
  expect([meshConfig().pathNormalization, modeOf("dubbo"), modeOf("istio")]).toEqual([
    "MERGE_SLASHES",
    "MERGE_SLASHES",
    "BASE",
  ])
})

it("uses the configured path normalization", () => {
  expect([modeOf("merlon", "NONE"), modeOf("istio", "NONE")]).toEqual(["NONE", "NONE"])
})
