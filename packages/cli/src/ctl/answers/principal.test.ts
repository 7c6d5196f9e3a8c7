// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { principalOf } from "./principal.js"

it.each(["ns/app/sa/web", "app/web", "my.td/ns/app/sa/web", "spiffe://my.td/ns/app/sa/web"])("takes %s", word => {
  expect(principalOf(word, "my.td")).toBe("my.td/ns/app/sa/web")
})

it.each(["web", "", "a/b/c", "ns/app/sa/", "ns/a b/sa/c", "my.td/ns/app/sa/web/more"])("takes no %j", word => {
  expect(() => principalOf(word, "my.td")).toThrow(/is no identity; write it as ns\/NAMESPACE\/sa\/ACCOUNT/)
})
