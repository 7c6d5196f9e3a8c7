// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { parseCidrList, parsePortList } from "./outbound-capture.js"

test.each<[string, readonly number[]]>([
  ["5432", [5432]],
  ["1,65535,53", [1, 65_535, 53]],
])("reads the ports `%s`", (text, ports) => {
  expect(parsePortList(text)).toEqual(ports)
})

test.each([
  ["", "`` is not a port; write a list such as 5432,6379"],
  ["5432,", "`` is not a port"],
  ["5432, 6379", "` 6379` is not a port"],
  ["0", "`0` is not a port"],
  ["080", "`080` is not a port"],
  ["65536", "`65536` is not a port"],
  ["1e3", "`1e3` is not a port"],
  ["1-5", "`1-5` is not a port"],
  ["80;reboot", "`80;reboot` is not a port"],
  ["80,80", "`80` is listed twice"],
  [Array.from({ length: 65 }, (_, at) => at + 1).join(), "more than 64 entries"],
])("rejects the ports `%s`", (text, because) => {
  expect(parsePortList(text)).toContain(because)
})

test.each<[string, readonly [4 | 6, string][]]>([
  ["10.0.0.0/8", [[4, "10.0.0.0/8"]]],
  [
    "192.0.2.7,fd00::1",
    [
      [4, "192.0.2.7/32"],
      [6, "fd00::1/128"],
    ],
  ],
  [
    "0.0.0.0/0,::/0",
    [
      [4, "0.0.0.0/0"],
      [6, "::/0"],
    ],
  ],
])("reads the blocks `%s`", (text, blocks) => {
  expect(parseCidrList(text)).toEqual(blocks.map(([family, block]) => ({ family, text: block })))
})

test.each([
  ["", "`` is not a CIDR block; write a list such as 10.0.0.0/8,fd00::/8"],
  ["*", "`*` is not a CIDR block"],
  ["10.0.0.0/33", "`10.0.0.0/33`"],
  ["10.0.0.0/08", "`10.0.0.0/08`"],
  ["10.0.0.0/8,", "`` is not a CIDR block"],
  ["010.0.0.0/8", "`010.0.0.0/8`"],
  ["fe80::1%eth0", "`fe80::1%eth0`"],
  ["::ffff:10.0.0.0/104", "`::ffff:10.0.0.0/104`"],
  ["example.com", "`example.com`"],
  ["10.0.0.0/8 accept", "`10.0.0.0/8 accept`"],
  ["10.0.0.1;reboot", "`10.0.0.1;reboot`"],
  ["10.0.0.1,10.0.0.1/32", "`10.0.0.1/32` is listed twice"],
])("rejects the blocks `%s`", (text, because) => {
  expect(parseCidrList(text)).toContain(because)
})
