// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { remoteKey } from "./address-key.js"

test.each([
  ["10.0.0.1", "10.0.0.1", true],
  ["10.0.0.1", "10.0.0.2", false],
  ["10.0.0.1", "::ffff:10.0.0.1", true],
  ["2001:db8::1", "2001:DB8:0:0:ffff::2", true],
  ["2001:db8::1", "2001:db8:0:1::1", false],
  ["fe80::1%eth0", "fe80::2%eth1", true],
  ["::1", "0.0.0.1", false],
])("%s and %s count as one address: %s", (one, other, same) => {
  expect(remoteKey(one)).toBeDefined()
  expect(remoteKey(one) === remoteKey(other)).toBe(same)
})

test("a closed socket has no address", () => {
  expect(remoteKey(undefined)).toBeUndefined()
})
