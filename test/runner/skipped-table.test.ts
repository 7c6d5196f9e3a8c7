// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { skippedTable } from "./skipped-table.js"

it("counts skipped tests by missing program and names what provides it", () => {
  const table = skippedTable([["needs/etcd"], ["needs/haproxy", "needs/etcd"], []])
  expect(table.split("\n")).toEqual([
    "MISSING  SKIPPED TESTS  INSTALL WITH",
    "etcd     2              apt-get install etcd-server",
    "haproxy  1              apt-get install haproxy",
  ])
})

it("is empty if nothing is missing", () => {
  expect(skippedTable([[], []])).toBe("")
})
