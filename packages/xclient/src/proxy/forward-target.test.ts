// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { forwardTarget, shownTarget } from "./forward-target.js"

it.each([
  ["http://web/a?b=c", { host: "web", port: 80, authority: "web", path: "/a?b=c" }],
  ["HTTP://Web.App:8080", { host: "web.app", port: 8080, authority: "Web.App:8080", path: "/" }],
  ["http://web?x", { host: "web", port: 80, authority: "web", path: "/?x" }],
  ["http://[::1]:81/", { host: "::1", port: 81, authority: "[::1]:81", path: "/" }],
  ["/origin/form", undefined],
  ["https://web/", undefined],
  ["http:///path", undefined],
  ["http://user:secret@web/", undefined],
  ["http://web:0/", undefined],
  ["http://web/#fragment", undefined],
  ["*", undefined],
])("%s", (url, target) => {
  expect(forwardTarget(url)).toEqual(target)
})

it.each([
  ["http://web/a?token=secret#secret", "http://web/a"],
  ["http://web/a#secret?secret", "http://web/a"],
  ["http://user:secret@web/a@b", "http://web/a@b"],
  ["http://secret@secret@web", "http://web"],
  ["user:secret@web:443", "web:443"],
  [`/${"x".repeat(300)}`, `/${"x".repeat(199)}`],
])("a log shows of %s only what is no secret", (url, shown) => {
  expect(shownTarget(url)).toBe(shown)
})
