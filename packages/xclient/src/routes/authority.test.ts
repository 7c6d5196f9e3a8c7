// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { authorityOf, parseAuthority } from "./authority.js"

it.each([
  ["web", { host: "web", port: undefined }],
  ["Web.App.:80", { host: "web.app", port: 80 }],
  ["10.0.0.1:65535", { host: "10.0.0.1", port: 65_535 }],
  ["[FE80::1]:80", { host: "fe80::1", port: 80 }],
  ["", undefined],
  [":80", undefined],
  ["web:", undefined],
  ["web:0", undefined],
  ["web:080", undefined],
  ["web:65536", undefined],
  ["fe80::1", undefined],
  ["[web]", undefined],
  ["..", undefined],
  ["a..b", undefined],
  ["[..]", undefined],
  ["[fe80::1%eth0]:80", undefined],
  ["user@web", undefined],
  ["web/path", undefined],
  ["we b", undefined],
  ["web\r\nx: y", undefined],
  ["a".repeat(255), undefined],
])("%j", (text, authority) => {
  expect(parseAuthority(text)).toEqual(authority)
})

it("every accepted text is parsed again to the same value", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(..."aZ0.-_:[]@/ \r\n%".split("")) }),
      fc.integer({ min: 1, max: 65_535 }),
      (text, port) => {
        const parsed = parseAuthority(text)
        if (parsed === undefined) return
        const { host } = parsed
        expect(parseAuthority(authorityOf(host, port))).toEqual({ host, port })
      },
    ),
  )
})
