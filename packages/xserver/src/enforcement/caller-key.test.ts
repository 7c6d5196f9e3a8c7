// SPDX-License-Identifier: Apache-2.0
import { parseIp, parseSpiffeId } from "@merlon/policy/request"
import { addressKey } from "@merlon/wire/limits"
import { expect, test } from "vitest"
import { callerKey } from "./caller-key.js"

test("a caller is identified by its proven identity, otherwise by its address", () => {
  const sourceIp = parseIp("10.0.0.1")
  if (sourceIp === undefined) throw new Error("no address")
  const uri = "spiffe://cluster.local/ns/a/sa/b"
  expect(callerKey({ peer: parseSpiffeId(uri), sourceIp })).toBe(uri)
  expect(callerKey({ peer: undefined, sourceIp })).toBe(addressKey(sourceIp))
})
