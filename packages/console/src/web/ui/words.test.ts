// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { callerName, ruleParts, stageWords } from "./names.js"
import { witnessText } from "./witness.js"

test.each([
  ["spiffe://cluster.local/ns/app/sa/web", "app/web"],
  ["cluster.local/ns/app/sa/web", "app/web"],
  ["spiffe://elsewhere/something", "spiffe://elsewhere/something"],
  [undefined, ""],
])("shortens identity %s to %s", (uri, name) => {
  expect(callerName(uri)).toBe(name)
})

test.each([
  ["app/readers[12]", { policy: "app/readers", at: "12" }],
  ["app/a[0][1]", { policy: "app/a[0]", at: "1" }],
  ["app/readers", undefined],
  [undefined, undefined],
])("splits rule %s into %j", (rule, parts) => {
  expect(ruleParts(rule)).toEqual(parts)
})

test.each([
  ["transport", "the mTLS mode of the port"],
  ["unheard of", "unheard of"],
  [undefined, ""],
])("describes stage %s as %s", (stage, words) => {
  expect(stageWords(stage)).toBe(words)
})

test.each([
  [
    { protocol: "http" as const, sourceIp: "10.0.0.1", port: 80, method: "PUT", path: "/a", host: "b" },
    "PUT /a at b from 10.0.0.1 in plaintext to port 80",
  ],
  [
    { protocol: "tcp" as const, principal: "td/ns/a/sa/b", sourceIp: "10.0.0.1", port: 80 },
    "a TCP connection from td/ns/a/sa/b to port 80",
  ],
  [
    {
      ...{ protocol: "http" as const, principal: "p", sourceIp: "10.0.0.1", port: 80 },
      ...{ headers: { a: ["1", "2"] }, token: { claims: { iss: "i" } } },
    },
    'GET / from p to port 80 with a: 1, 2 with the token claims {"iss":"i"}',
  ],
])("writes a request in one line: case %#", (witness, text) => {
  expect(witnessText(witness)).toBe(text)
})
