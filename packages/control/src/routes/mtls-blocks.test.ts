// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { mtlsBlocks } from "./mtls-blocks.js"

const range = (count: number, address: (n: number) => string) => Array.from({ length: count }, (_, n) => address(n + 1))

it.each<[string, readonly string[], readonly string[], readonly string[]]>([
  ["nothing", [], [], []],
  ["single Services", range(9, n => `10.96.0.${n}`), [], range(9, n => `10.96.0.${n}`)],
  ["single Pods if they are few", [], ["10.244.1.9", "10.244.1.2"], ["10.244.1.2", "10.244.1.9"]],
  ["an address once", ["10.0.0.1"], ["10.0.0.1", "10.0.0.1"], ["10.0.0.1"]],
  ["many Pods of a node as its block", [], range(8, n => `10.244.1.${n}`), ["10.244.1.0/24"]],
  ["many IPv6 Pods of a node as its block", [], range(8, n => `fd00:10:244:1::${n}`), ["fd00:10:244:1::/64"]],
  ["each node separately", [], [...range(8, n => `10.244.1.${n}`), "10.244.2.1"], ["10.244.1.0/24", "10.244.2.1"]],
  [
    "everything if there are too many",
    range(70_000, n => `10.${n >>> 16}.${(n >>> 8) & 255}.${n & 255}`),
    [],
    ["0.0.0.0/0", "::/0"],
  ],
])("lists %s", (_, services, pods, blocks) => {
  expect(mtlsBlocks(services, pods)).toEqual(blocks)
})
