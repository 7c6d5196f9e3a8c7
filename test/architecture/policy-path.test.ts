// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { readText, sourceFiles } from "./tree.js"

const CONTROL = "packages/control/src/"
const LISTED = /^\| `((?:control|xds|xserver)\/src\/[^`]+\.ts)` \|/gm

const listed = [...readText("ARCHITECTURE.md").matchAll(LISTED)].map(([, path]) => `packages/${path}`)
const code = sourceFiles().filter(
  path => path.startsWith(CONTROL) && !path.endsWith(".test.ts") && !path.includes("/testing/"),
)

/** Files of the control plane that match the pattern, relative to the package's `src` folder. */
function using(pattern: RegExp): readonly string[] {
  return code
    .filter(path => pattern.test(readText(path)))
    .map(path => path.slice(CONTROL.length))
    .sort()
}

it("lists at most 20 files on the path of a policy, and all of them exist", () => {
  expect(listed.length).toBeGreaterThan(10)
  expect(listed.length).toBeLessThanOrEqual(20)
  expect(listed.filter(path => !existsSync(path))).toEqual([])
})

it("reads stored documents in one file only", () => {
  // Other files validate documents that are not stored: fallback policies, policies under admission and in queries, and
  // versions in a history.
  expect(using(/\bvalidate\b[^"]*"@merlon\/policy\/resources"/)).toEqual([
    "admission/validate-policy.ts",
    "answers/api/proved-answers.ts",
    "history/policy-body.ts",
    "policies/fallback-policy.ts",
    "policies/read-policy.ts",
  ])
})

it("feeds the reflected policies into the mesh state and nowhere else", () => {
  expect(using(/reflectors\.policies|feedPolicies\(/)).toEqual(["policies/policies-feed.ts", "serve/mesh-state.ts"])
})

it("has one definition of policies with the same meaning", () => {
  expect(using(/function (?:meansTheSame|keepsMeaning|meaningOf)/)).toEqual(["policies/meaning.ts"])
})

it("searches for proofs and compares policies only in the proof thread, never on the event loop", () => {
  const laborious = /\b(?:analysis|analyze|assessChange|checkInvariants|compareSets|deadRules|diffSets)\(/
  expect(using(laborious)).toEqual(["proofs/answering.ts", "proofs/ask-policies.ts"])
  expect(using(/"\.\/answering\.js"|proofs\/answering\.js"/)).toEqual(["proofs/proof-thread-main.ts"])
})
