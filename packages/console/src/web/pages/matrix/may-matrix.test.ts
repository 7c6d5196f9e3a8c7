// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { Ways } from "../../api/answers.js"
import { csvOf } from "./csv.js"
import { accessOf, identitiesOf } from "./may-matrix.js"

type Way = Ways["ways"][number]

const way = (workload: string, fields: Partial<Way> = {}): Way => ({
  ...{ workload, callers: "anybody", requests: "any request", limits: ["over mutual TLS"] },
  ...{ witness: { protocol: "http", sourceIp: "", port: 1 }, ...fields },
})
const proved = (...ways: readonly Way[]): Ways => ({ result: "proved", ways, undecided: [] })

test.each<readonly [string, Ways | undefined, string | undefined]>([
  ["nothing was queried", undefined, undefined],
  ["every request is allowed", proved(way("app/web")), "all"],
  ["every request to one of its Pods is allowed", proved(way("app/web-6d4-x")), "all"],
  ["only some methods are allowed", proved(way("app/web", { requests: "GET or HEAD" })), "some"],
  ["only requests with a token are allowed", proved(way("app/web", { callers: "td/ns/a/sa/b with a token" })), "some"],
  ["there is another condition", proved(way("app/web", { limits: ["over mutual TLS", "not /admin"] })), "some"],
  ["no request is allowed", proved(way("app/other")), "none"],
  ["it is not decided", { result: "undecided", ways: [], undecided: [{ workload: "app/web", reason: "" }] }, undefined],
  [
    "it is not decided for another workload",
    { result: "undecided", ways: [], undecided: [{ workload: "app/other", reason: "" }] },
    "none",
  ],
])("if %s, the access is %s", (_, ways, expected) => {
  expect(accessOf(ways, "app/web")).toBe(expected)
})

it("writes CSV that no spreadsheet reads as a formula", () => {
  expect(
    csvOf([
      ["a", 'b "c"', "=1+1"],
      ["d,e", "", "-x"],
    ]),
  ).toBe('a,"b ""c""",\'=1+1\r\n"d,e",,\'-x\r\n')
})

it("lists each identity of running workloads and recorded callers once", () => {
  const cell = { caller: "a/b", workload: "c/d", allowed: 1, denied: 0, plaintext: 0, lastPlaintext: "", lastMtls: "" }
  const cells = [
    { ...cell, rules: new Map(), principal: "td/ns/a/sa/b" },
    { ...cell, rules: new Map() },
  ]
  const found = identitiesOf(["td/ns/x/sa/y", "td/ns/a/sa/b"], cells, uri => uri.slice(-1))
  expect([...found]).toEqual([
    ["b", "td/ns/a/sa/b"],
    ["y", "td/ns/x/sa/y"],
  ])
})
