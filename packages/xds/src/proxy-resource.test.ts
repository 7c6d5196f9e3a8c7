// SPDX-License-Identifier: Apache-2.0
import { keySetId } from "@merlon/policy/tokens"
import { expect, it } from "vitest"
import { resourceNames } from "./proxy-resource.js"
import { deltaRig } from "./server/testing/delta-rig.js"

const longest = { issuer: `https://issuer/${"i".repeat(2_000)}`, jwksUri: `https://issuer/${"k".repeat(2_000)}` }

it("accepts a reconnecting proxy with the keys of an issuer with a very long name", () => {
  const rig = deltaRig()
  const held = { [resourceNames.keySet(keySetId(longest))]: "v1" }
  expect(rig.ask({ resourceNamesSubscribe: ["*"], initialResourceVersions: held })).toBeUndefined()
})

it("gives the key sets of two rules different names", () => {
  const other = { ...longest, jwksUri: `${longest.jwksUri}2` }
  expect(resourceNames.keySet(keySetId(longest))).not.toBe(resourceNames.keySet(keySetId(other)))
})
