// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import type { Policy } from "../../api/objects.js"
import { withEdits } from "./apply-edits.js"
import { lineDiff } from "./line-diff.js"

const policy: Policy = {
  kind: "AuthorizationPolicy",
  metadata: { name: "callers", namespace: "shop" },
  spec: { rules: [{ from: [{ source: { principals: ["a"], notPrincipals: ["z"] } }] }] },
}
const edit = (at: string, change: string, value: string) => ({ at, change, value, policy: "shop/callers" })

describe("edits of a policy", () => {
  it("add a value to a list and leave the policy itself alone", () => {
    const next = withEdits(policy, [edit("spec.rules[0].from[0].source.principals", "add", "b")])
    expect(next.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a", "b"], notPrincipals: ["z"] } }] }] })
    expect(policy.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a"], notPrincipals: ["z"] } }] }] })
  })

  it("remove the last value with its field", () => {
    const next = withEdits(policy, [edit("spec.rules[0].from[0].source.notPrincipals", "remove", "z")])
    expect(next.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a"] } }] }] })
  })

  it("make what is missing on the way", () => {
    const next = withEdits(policy, [edit("spec.rules[0].to[0].operation.notPaths", "add", "/x")])
    expect(next.spec?.rules).toMatchObject([{ to: [{ operation: { notPaths: ["/x"] } }] }])
  })

  it("reach no prototype", () => {
    withEdits(policy, [edit("__proto__.polluted", "add", "x"), edit("spec.__proto__.polluted", "add", "x")])
    expect({}).not.toHaveProperty("polluted")
  })
})

describe("a diff of lines", () => {
  it("shows what comes and goes with two lines around it", () => {
    const lines = lineDiff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nd\nX\nf\ng\n").map(({ sign, text }) => sign + text)
    expect(lines).toEqual([" c", " d", "-e", "+X", " f", " g"])
  })

  it("is empty for equal texts", () => {
    expect(lineDiff("a\nb", "a\nb\n")).toEqual([])
  })
})
