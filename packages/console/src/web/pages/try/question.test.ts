// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { parse } from "yaml"
import { requestOf } from "./curl-request.js"
import { policyTest } from "./policy-test.js"
import { questionOf } from "./question.js"

const HOSTILE = `x": {y}\n- z: '"# \u2028`

describe("the query in the address", () => {
  it("is undefined without a workload", () => {
    expect(questionOf(new URLSearchParams("path=/a"))).toBeUndefined()
  })

  it("has the given values, and defaults for the others", () => {
    expect(questionOf(new URLSearchParams("workload=app/web"))).toEqual({
      workload: "app/web",
      request: { method: "GET", path: "/" },
    })
    const search = new URLSearchParams({
      ...{ workload: "app/web", from: "a/ns/b/sa/c", method: "PUT", path: "/x?y", claims: '{"groups":["a"]}' },
      headers: "X-One: 1\nno header\nx-two:2: 3",
    })
    expect(questionOf(search)?.request).toEqual({
      ...{ from: "a/ns/b/sa/c", method: "PUT", path: "/x?y", token: { claims: { groups: ["a"] } } },
      headers: { "x-one": "1", "x-two": "2: 3" },
    })
  })

  it("passes invalid JSON claims on, so that the server reports the error", () => {
    const search = new URLSearchParams({ workload: "a/b", claims: "{" })
    expect(questionOf(search)?.request.token).toEqual({ claims: "{" })
  })
})

test.each([
  ["curl http://web.app/items", { method: "GET", path: "/items", headers: "host: web.app" }],
  [
    "curl -X DELETE -H 'X-A: 1' http://web.app:8000/a?b=c",
    { method: "DELETE", path: "/a?b=c", headers: "host: web.app:8000\nx-a: 1" },
  ],
])("reads `%s` into the form's fields", (line, fields) => {
  const read = requestOf(line)
  expect(typeof read === "string" ? read : { ...read, headers: read.headers.toLowerCase() }).toEqual(fields)
})

test.each(["curl", "curl --unheard-of http://a"])("returns an error for `%s`", line => {
  expect(requestOf(line)).toBeTypeOf("string")
})

describe("a policy test", () => {
  it("contains the request and its result, with all special characters escaped", () => {
    const asked = { workload: "app/web-1", request: { method: "GET", path: HOSTILE, headers: { a: HOSTILE } } }
    const written = parse(
      policyTest("merlon.dev", asked, { verdict: "deny", status: 403, stages: [] }, { app: HOSTILE }),
    )
    expect(written).toEqual({
      apiVersion: "test.merlon.dev/v1alpha1",
      kind: "PolicyTest",
      metadata: { name: "web-1-request" },
      workloads: { "web-1": { namespace: "app", labels: { app: HOSTILE } } },
      cases: [{ name: `GET ${HOSTILE}`, to: "web-1", request: asked.request, expect: 403 }],
    })
  })

  test.each([
    [{ verdict: "allow" as const, stages: [] }, "allow"],
    [{ verdict: "deny" as const, stages: [] }, "closed"],
  ])("expects for %j: %s", (explanation, expected) => {
    const text = policyTest("merlon.dev", { workload: "a/b", request: {} }, explanation, {})
    expect(parse(text).cases[0].expect).toBe(expected)
  })
})
