// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { readText, sourceFiles } from "./tree.js"

const CONTROL = "packages/control/src/"
const ROOM = /^\| `((?:control|xds|xserver)\/src\/[^`]+\.ts)` \|/gm

const rooms = [...readText("ARCHITECTURE.md").matchAll(ROOM)].map(([, path]) => `packages/${path}`)
const code = sourceFiles().filter(
  path => path.startsWith(CONTROL) && !path.endsWith(".test.ts") && !path.includes("/testing/"),
)

/** Files of the control plane in which a pattern occurs, without their folder. */
function using(pattern: RegExp): readonly string[] {
  return code
    .filter(path => pattern.test(readText(path)))
    .map(path => path.slice(CONTROL.length))
    .sort()
}

it("leads a policy through rooms that exist, about half as many as it had", () => {
  expect(rooms.length).toBeGreaterThan(10)
  expect(rooms.length).toBeLessThanOrEqual(20)
  expect(rooms.filter(path => !existsSync(path))).toEqual([])
})

it("reads stored documents in one room alone", () => {
  // A fallback policy is made, not stored, and what admission reads and what questions bring is not stored yet. A history keeps what was.
  expect(using(/\bvalidate\b[^"]*"@merlon\/policy\/resources"/)).toEqual([
    "admission/validate-policy.ts",
    "answers/api/proved-answers.ts",
    "history/policy-body.ts",
    "policies/fallback-policy.ts",
    "policies/read-policy.ts",
  ])
})

it("takes the copies of our kinds into the stage and nowhere else", () => {
  expect(using(/reflectors\.policies|feedPolicies\(/)).toEqual(["policies/policies-feed.ts", "serve/mesh-state.ts"])
})

it("has one notion of meaning the same", () => {
  expect(using(/function (?:meansTheSame|keepsMeaning|meaningOf)/)).toEqual(["policies/meaning.ts"])
})

it("searches for proofs and compares policies in the thread alone, never on the event loop", () => {
  const laborious = /\b(?:analysis|analyze|assessChange|checkInvariants|compareSets|deadRules|diffSets)\(/
  expect(using(laborious)).toEqual(["proofs/answering.ts", "proofs/ask-policies.ts"])
  expect(using(/"\.\/answering\.js"|proofs\/answering\.js"/)).toEqual(["proofs/proof-thread-main.ts"])
})
