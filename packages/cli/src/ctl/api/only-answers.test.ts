// SPDX-License-Identifier: Apache-2.0
import type { ApiRequest } from "@merlon/control/kubernetes"
import { describe, expect, it } from "vitest"
import { answerTo } from "./only-answers.js"

const GET: ApiRequest = { method: "GET", path: "/apis/x/v1/things" }
const POST: ApiRequest = { method: "POST", path: "/apis/x/v1/reviews" }
const DELETE: ApiRequest = { method: "DELETE", path: "/apis/x/v1/things/a" }
const named = { metadata: { name: "a" } }

describe("is an answer", () => {
  it.each<[string, ApiRequest, object]>([
    ["a list", GET, { kind: "ThingList", metadata: {}, items: [named] }],
    ["a list of none, as Go writes it", GET, { kind: "ThingList", metadata: {}, items: null }],
    ["a table", GET, { kind: "Table", rows: [] }],
    ["an object", GET, { kind: "Thing", ...named }],
    ["an object of a kind that sounds like a list", GET, { kind: "AllowList", ...named }],
    ["what a group serves", GET, { kind: "APIResourceList", resources: [] }],
    ["a review, which has no name", POST, { kind: "Review", metadata: {}, status: {} }],
    ["that it is deleted", DELETE, { kind: "Status", status: "Success", metadata: {} }],
    ["a version, which has no kind", { method: "GET", path: "/version" }, { gitVersion: "v1" }],
  ])("%s", (_, request, answer) => {
    expect(answerTo(request, answer)).toBe(answer)
  })
})

describe("is none, though it is JSON with a good status", () => {
  it.each<[string, ApiRequest, object]>([
    ["nothing", GET, {}],
    ["what a gateway says of itself", GET, { error: "login_required" }],
    ["a list without its items", GET, { kind: "ThingList", metadata: {} }],
    ["a list with something else for items", GET, { kind: "ThingList", items: "x" }],
    ["a list of what has no name", GET, { kind: "ThingList", items: [null, 7, { metadata: null }] }],
    ["an object without a name", GET, { kind: "Thing", metadata: null }],
    ["that something else is done", GET, { kind: "Status", status: "Success", metadata: {} }],
    ["an answer to a review without a kind", POST, { ok: true }],
  ])("%s", (_, request, answer) => {
    expect(() => answerTo(request, answer)).toThrow(/something else than it was asked for/)
  })

  it("a failure, which is reported in its own words", () => {
    const failure = { kind: "Status", status: "Failure", code: 403, reason: "Forbidden", message: "you may not" }
    expect(() => answerTo(GET, failure)).toThrow(expect.objectContaining({ code: 403, message: "you may not" }))
  })
})
