// SPDX-License-Identifier: Apache-2.0
// Queries of the answers API: trusted front proxies, parsing, filters and request slots.

import { describe, expect, it } from "vitest"
import { AnswersApiError } from "./answers-api-error.js"
import { readFilter, type Traits } from "./filters.js"
import { readQuestion, spanIn, wholeIn } from "./question.js"
import { readFrontProxy } from "./remote-user.js"
import { RequestSlots } from "./request-slots.js"

const TRAITS: Traits = {
  verdict: ["deny"],
  workload: ["foo/httpbin-1", "httpbin-1"],
  caller: ["app/consumer", undefined],
  policy: ["foo/readers", "foo/readers[0]"],
  path: ["/status/200"],
}

describe("a filter", () => {
  it.each([
    ["", true],
    ["verdict=deny", true],
    ["verdict=allow", false],
    ["verdict=allow&verdict=deny", true],
    ["not-verdict=deny", false],
    ["path=/status/*", true],
    ["path=*200", true],
    ["path=/s*us*00", true],
    ["path=/s*us*01", false],
    ["path=/status/200*00", false],
    ["not-path=/health*", true],
    ["workload=httpbin-1&caller=app/*", true],
    ["policy=foo/readers", true],
  ])("`%s` matches: %s", (query, through) => {
    expect(readFilter(new URLSearchParams(query))(TRAITS)).toBe(through)
  })

  it("with too many or too long patterns is rejected", () => {
    expect(() => readFilter(new URLSearchParams("path=a&".repeat(21)))).toThrow(AnswersApiError)
    expect(() => readFilter(new URLSearchParams(`path=${"a".repeat(513)}`))).toThrow(AnswersApiError)
  })
})

describe("a question", () => {
  const read = (method: string, path: string) => {
    const [rest = "", query = ""] = path.split("?")
    const question = readQuestion(method, rest, new URLSearchParams(query))
    return question && [question.resource.name, question.verb, question.namespace, question.name]
  }

  it.each([
    ["GET", "/calls", ["calls", "list", undefined, undefined]],
    ["GET", "/namespaces/foo/calls", ["calls", "list", "foo", undefined]],
    ["GET", "/namespaces/foo/decisions/abc", ["decisions", "get", "foo", "abc"]],
    ["GET", "/decisions?watch=true", ["decisions", "watch", undefined, undefined]],
    ["POST", "/namespaces/foo/diffs", ["diffs", "create", "foo", undefined]],
    ["GET", "/secrets", undefined],
    ["GET", "/calls/a/b", undefined],
    ["GET", "/namespaces/foo", undefined],
  ])("%s %s is %j", (method, path, expected) => {
    expect(read(method, path)).toEqual(expected)
  })

  it.each(["/namespaces/Foo/calls", "/namespaces/..%2f/calls", "/decisions/<x>"])(
    "with the name %s is rejected",
    path => {
      expect(() => read("GET", path)).toThrow(AnswersApiError)
    },
  )

  it("accepts only valid numbers and times", () => {
    expect(wholeIn(new URLSearchParams("limit=9000"), "limit", 5, 100)).toBe(100)
    expect(() => wholeIn(new URLSearchParams("limit=-1"), "limit", 5, 100)).toThrow(AnswersApiError)
    expect(spanIn(new URLSearchParams("since=2h"), "since")).toBe(7_200_000)
    expect(() => spanIn(new URLSearchParams("since=soon"), "since")).toThrow(AnswersApiError)
  })
})

describe("the API server in front", () => {
  it.each([[undefined], [{}], [{ "requestheader-client-ca-file": "none" }]])(
    "is not trusted without an authority: %j",
    data => {
      expect(readFrontProxy(data)).toBeUndefined()
    },
  )
})

describe("request slots", () => {
  const unexpectedEnd = (): void => expect.unreachable("there is room")

  it("are limited per user and in total", () => {
    const slots = new RequestSlots(4, 2)
    const leave = slots.enter("a", unexpectedEnd)
    expect(slots.enter("a", unexpectedEnd)).toBeDefined()
    expect(slots.enter("a", unexpectedEnd)).toBeUndefined()
    leave?.()
    leave?.()
    for (const user of ["b", "c", "d"]) expect(slots.enter(user, unexpectedEnd)).toBeDefined()
    expect(slots.enter("e", unexpectedEnd)).toBeUndefined()
  })

  it("are taken from the client with the most, oldest first, for a client with at least two fewer", () => {
    const slots = new RequestSlots(5, 3)
    const ended: string[] = []
    const enter = (user: string, name: string) => slots.enter(user, () => ended.push(name))
    const first = enter("a", "a1")
    for (const name of ["a2", "a3"]) enter("a", name)
    for (const name of ["b1", "b2"]) enter("b", name)
    expect(enter("c", "c1")).toBeDefined()
    expect(ended).toEqual(["a1"])
    // This client has left already, so the call frees no other client's slot.
    first?.()
    expect(enter("c", "c2")).toBeUndefined()
    expect(enter("d", "d1")).toBeDefined()
    expect(ended).toEqual(["a1", "a2"])
    expect(enter("a", "a4")).toBeUndefined()
  })

  it("stay available when a few clients take all they can and keep them", () => {
    const slots = new RequestSlots(64, 8)
    for (let user = 0; user < 8; user++) for (let turn = 0; turn < 8; turn++) slots.enter(`t${user}`, () => undefined)
    for (let user = 0; user < 40; user++) expect(slots.enter(`other-${user}`, () => undefined)).toBeDefined()
  })
})
