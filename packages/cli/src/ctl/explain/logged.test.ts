// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import type { Explanation } from "./explanation.js"
import { unlikeLog } from "./logged.js"

const explained = (verdict: Explanation["verdict"], status?: number): Explanation => ({
  ...{ verdict, status, body: undefined, stages: [], rule: undefined, shadow: undefined },
  ...{ change: undefined, token: undefined },
})
const line = (fields: object): string => JSON.stringify({ method: "GET", ...fields })

it.each([
  ["denies it with another status", { verdict: "deny", status: 401, decisionId: "ab" }, explained("deny", 403)],
  ["would allow it", { verdict: "deny", status: 403, decisionId: "ab" }, explained("allow")],
])("a line differs from the explanation if that %s", (_, logged, explanation) => {
  expect(unlikeLog(line(logged), explanation)).toBe(
    `according to the log, the proxy denied it with ${logged.status}: the line holds no token and not all headers (add \`--token\` or \`-H\`), and policies may have changed since; \`merlonctl explain ab\` asks the proxy`,
  )
})

it("also if that denies what was allowed", () => {
  expect(unlikeLog(line({ verdict: "allow", status: 200 }), explained("deny", 403))).toMatch(
    /^according to the log, the proxy allowed it: [^;]*$/,
  )
})

const envoys = (matched: string): string =>
  line({ response_code: 403, response_code_details: `rbac_access_denied_matched_policy[${matched}]` })
const by = (rule: string | undefined): Explanation => ({ ...explained("deny", 403), rule })

it.each([
  [
    "another rule denies it",
    envoys("ns[a]-policy[b]-rule[0]"),
    by("ns[a]-policy[c]-rule[1]"),
    " by ns[a]-policy[b]-rule[0]:",
  ],
  ["a rule denies it", envoys("none"), by("ns[a]-policy[c]-rule[1]"), ", as no ALLOW rule matched:"],
  ["no rule allows it", envoys("ns[a]-policy[b]-rule[0]"), by(undefined), " by ns[a]-policy[b]-rule[0]:"],
  ["the same rule denies it", envoys("ns[a]-policy[b]-rule[0]"), by("ns[a]-policy[b]-rule[0]"), undefined],
  ["no rule allows it there either", envoys("none"), by(undefined), undefined],
])("a line of Envoy is compared by its rule if %s", (_, text, explanation, words) => {
  const result = unlikeLog(text, explanation)
  if (words === undefined) expect(result).toBeUndefined()
  else expect(result).toContain(`the proxy denied it with 403${words}`)
})

it.each([
  ["it says the same", line({ verdict: "deny", status: 403 }), explained("deny", 403)],
  ["both allow it, whatever the application said", line({ verdict: "allow", status: 500 }), explained("allow")],
  ["it says nothing of that", line({}), explained("deny", 403)],
  ["it is none", "{", explained("deny", 403)],
])("nothing is reported about a line if %s", (_, text, explanation) => {
  expect(unlikeLog(text, explanation)).toBeUndefined()
})
