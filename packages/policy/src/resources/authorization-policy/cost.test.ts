// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { meshNames } from "../../mesh/names.js"
import { validate } from "../validate.js"

const names = meshNames()
const policy = (...rules: object[]) => ({
  apiVersion: `security.${names.domain}/v1alpha3`,
  kind: "AuthorizationPolicy",
  metadata: { name: "p", namespace: "foo" },
  spec: { rules },
})
const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))

describe("a policy that is more expensive than its length suggests", () => {
  test.each<[string, object[]]>([
    ["templates of many segments", [{ to: [{ operation: { paths: times(400, n => `/${n}${"/{*}".repeat(400)}`) } }] }]],
    [
      "principals of many slashes",
      [{ from: [{ source: { requestPrincipals: times(300, n => `${"a/".repeat(500)}${n}`) } }] }],
    ],
    ["namespaces of many stars", [{ from: [{ source: { namespaces: times(500, n => `${"a*".repeat(300)}${n}`) } }] }]],
    [
      "callers multiplied with conditions",
      [
        {
          from: times(400, n => ({ source: { namespaces: [`n${n}`] } })),
          when: times(400, n => ({ key: `request.headers[h${n}]`, values: ["a"] })),
        },
      ],
    ],
  ])("is rejected: %s", (_, rules) => {
    const { errors } = validate(policy(...rules), names)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({ code: "too-large", path: "spec.rules[0]" })
    expect(errors[0]?.problem).toMatch(/^the rule compiles to \d{6} parts, and .* more than 100000$/)
  })

  it("is rejected at the rule that exceeds the limit", () => {
    const rule = { to: [{ operation: { paths: times(1_000, n => `/${n}${"/{*}".repeat(40)}`) } }] }
    const { errors } = validate(policy(rule, rule, rule), names)
    expect(errors.map(({ path }) => path)).toEqual(["spec.rules[1]"])
  })

  it("is not rejected at a size that people write", () => {
    const rules = times(200, n => ({
      from: [{ source: { principals: times(20, m => `cluster.local/ns/team-${n}/sa/app-${m}`) } }],
      to: [{ operation: { methods: ["GET"], paths: [`/team/${n}/{*}/x`] } }],
    }))
    expect(validate(policy(...rules), names).errors).toEqual([])
  })
})
