// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { addressClass } from "./connections.js"

test.each([
  ["10.0.0.1", "::ffff:10.0.0.1", true],
  ["10.0.0.1", "10.0.0.2", false],
  ["2001:db8::1", "2001:db8:0:0:ffff::2", true],
  ["2001:db8::1", "2001:db8:0:1::1", false],
  ["fe80::1%eth0", "fe80::2%eth1", true],
])("%s and %s count as one address: %s", (one, other, same) => {
  expect(addressClass(one) === addressClass(other)).toBe(same)
})
