// SPDX-License-Identifier: Apache-2.0
import { InvalidArgumentError } from "commander"
import { expect, it } from "vitest"
import { endpoint, trustDomain } from "./arguments.js"

it.each([
  [trustDomain, "cluster.local"],
  [trustDomain, "prod_1.example-2"],
  [endpoint, "merlond.merlon-system.svc:15012"],
  [endpoint, "[::1]:15012"],
])("%o takes %s as it is", (read, text) => {
  expect(read(text)).toBe(text)
})

it.each([
  [trustDomain, "UPPER"],
  [trustDomain, "a/b"],
  [trustDomain, ""],
  [trustDomain, "spiffe://cluster.local"],
  [trustDomain, "a".repeat(256)],
  [endpoint, "nonsense"],
  [endpoint, "a:99999"],
  [endpoint, "https://a:1"],
])("%o rejects `%s`", (read, text) => {
  expect(() => read(text)).toThrow(InvalidArgumentError)
})
