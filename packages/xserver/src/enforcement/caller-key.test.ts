// SPDX-License-Identifier: Apache-2.0
import { parseIp, parseSpiffeId } from "@merlon/policy"
import { expect, test } from "vitest"
import { addressKey, callerKey } from "./caller-key.js"

function keyOf(address: string): string {
  const ip = parseIp(address)
  if (ip === undefined) throw new Error("no address")
  return addressKey(ip)
}

test.each([
  ["10.0.0.1", "10.0.0.1", true],
  ["10.0.0.1", "10.0.0.2", false],
  ["10.0.0.1", "::ffff:10.0.0.1", true],
  ["2001:db8::1", "2001:DB8:0:0:ffff::2", true],
  ["2001:db8::1", "2001:db8:0:1::1", false],
  ["::1", "0.0.0.1", false],
])("%s and %s are one caller: %s", (one, other, same) => {
  expect(keyOf(one) === keyOf(other)).toBe(same)
})

test("who has proved an identity counts by it, wherever it calls from", () => {
  const sourceIp = parseIp("10.0.0.1")
  if (sourceIp === undefined) throw new Error("no address")
  const uri = "spiffe://cluster.local/ns/a/sa/b"
  expect(callerKey({ peer: parseSpiffeId(uri), sourceIp })).toBe(uri)
  expect(callerKey({ peer: undefined, sourceIp })).toBe(keyOf("10.0.0.1"))
})
