// SPDX-License-Identifier: Apache-2.0

import { expect, it } from "vitest"
import { allHold } from "./dry-run.js"

const RULE = "`never: nobody deletes` of PolicyInvariant `foo/no-deletes`"

it.each<readonly [string, readonly string[], boolean]>([
  ["no warning", [], true],
  ["a warning about something else", ["spec.rules[0]: the rule matches nothing"], true],
  ["a broken invariant", [`${RULE} is broken on \`foo/a\`: DELETE / is allowed`], false],
  [
    "a new invariant that does not hold",
    [`already now, ${RULE} is broken on 2 workloads (\`foo/a\` …): DELETE /`],
    false,
  ],
  ["an undecided invariant", [`${RULE} is not decided on \`foo/a\`: the time was up`], false],
])("says with $0 whether all invariants hold: $2", (_, warnings, expected) => {
  expect(allHold({ passed: true, error: undefined, causes: [], warnings })).toBe(expected)
})

it("claims no invariant before the dry run has passed", () => {
  expect(allHold({ passed: false, error: undefined, causes: [], warnings: [] })).toBe(false)
})
