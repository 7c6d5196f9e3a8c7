// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { parseIp } from "./ip.js"
import { remoteAddress } from "./remote-address.js"

test.each<[number, string[] | undefined, string]>([
  [0, ["1.1.1.1"], "10.0.0.1"],
  [1, undefined, "10.0.0.1"],
  [1, ["1.1.1.1"], "1.1.1.1"],
  [1, ["6.6.6.6, 1.1.1.1"], "1.1.1.1"],
  [2, ["52.79.0.1, 72.9.5.6, 98.1.2.3"], "72.9.5.6"],
  [2, ["52.79.0.1, 72.9.5.6", "98.1.2.3"], "72.9.5.6"],
  [3, ["1.1.1.1, 2.2.2.2"], "10.0.0.1"],
  [1, ["1.1.1.1, unknown"], "10.0.0.1"],
  [1, [""], "10.0.0.1"],
  [1, ["2001:db8::1"], "2001:db8::1"],
])("with %d trusted proxies, %j names %s", (trusted, lines, expected) => {
  const peer = parseIp("10.0.0.1")
  expect(peer && remoteAddress(peer, lines, trusted).text).toBe(expected)
})
