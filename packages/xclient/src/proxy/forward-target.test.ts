// SPDX-License-Identifier: Apache-2.0
import { parseRequestHead } from "@merlon/wire"
import type { RequestHead } from "@merlon/wire/http"
import { expect, it } from "vitest"
import { forwardTarget, shownTarget } from "./forward-target.js"

function headOf(line: string): RequestHead {
  const head = parseRequestHead(`${line} HTTP/1.1\r\nhost: other\r\n\r\n`, 10, false, true)
  if (typeof head === "string") throw new Error(head)
  return head
}

it.each([
  ["GET http://web/a?b=c", { host: "web", port: 80 }],
  ["GET HTTP://Web.App:8080", { host: "web.app", port: 8080 }],
  ["GET http://web?x", { host: "web", port: 80 }],
  ["GET http://[::1]:81/", { host: "::1", port: 81 }],
  ["CONNECT web:443", { host: "web", port: 443 }],
  ["CONNECT [::1]:443", { host: "::1", port: 443 }],
])("%s", (line, target) => {
  expect(forwardTarget(headOf(line))).toEqual(target)
})

it.each([
  ["GET /origin/form", /this is a forward proxy/],
  ["GET https://web/", /this is a forward proxy/],
  ["GET http://web:0/", /this is a forward proxy/],
  ["OPTIONS *", /this is a forward proxy/],
  ["CONNECT web:0", /CONNECT needs/],
  ["CONNECT web:", /bad-target/],
  ["CONNECT /path", /bad-target/],
  ["CONNECT web", /bad-target/],
  ["CONNECT http://web:80/", /bad-target/],
  ["GET http:///path", /bad-target/],
  ["GET http://user:secret@web/", /bad-target/],
  ["GET http://web/#fragment", /this is a forward proxy/],
])("%s is rejected", (line, reason) => {
  expect(() => forwardTarget(headOf(line))).toThrow(reason)
})

it.each([
  ["GET http://web/a?token=secret", "http://web/a"],
  ["GET http://web:81/a@b", "http://web:81/a@b"],
  ["CONNECT web:443", "web:443"],
  [`GET /${"x".repeat(300)}`, `other/${"x".repeat(194)}`],
])("a log shows no secrets of %s", (line, shown) => {
  expect(shownTarget(headOf(line))).toBe(shown)
})
