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
  it("add a value to a list without modifying the original policy", () => {
    const next = withEdits(policy, [edit("spec.rules[0].from[0].source.principals", "add", "b")])
    expect(next.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a", "b"], notPrincipals: ["z"] } }] }] })
    expect(policy.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a"], notPrincipals: ["z"] } }] }] })
  })

  it("remove a field with its last value", () => {
    const next = withEdits(policy, [edit("spec.rules[0].from[0].source.notPrincipals", "remove", "z")])
    expect(next.spec).toEqual({ rules: [{ from: [{ source: { principals: ["a"] } }] }] })
  })

  it("create missing fields of the path", () => {
    const next = withEdits(policy, [edit("spec.rules[0].to[0].operation.notPaths", "add", "/x")])
    expect(next.spec?.rules).toMatchObject([{ to: [{ operation: { notPaths: ["/x"] } }] }])
  })

  it("cannot change an object's prototype", () => {
    withEdits(policy, [edit("__proto__.polluted", "add", "x"), edit("spec.__proto__.polluted", "add", "x")])
    expect({}).not.toHaveProperty("polluted")
  })
})

describe("a line diff", () => {
  it("shows added and removed lines with two lines of context", () => {
    const lines = lineDiff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nd\nX\nf\ng\n").map(({ sign, text }) => sign + text)
    expect(lines).toEqual([" c", " d", "-e", "+X", " f", " g"])
  })

  it("is empty for equal texts", () => {
    expect(lineDiff("a\nb", "a\nb\n")).toEqual([])
  })
})
