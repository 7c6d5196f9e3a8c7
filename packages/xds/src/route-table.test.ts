// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { clusterName, parseClusterName } from "./route-table.js"

describe("a cluster's name", () => {
  it.each([
    [{ port: 80, subset: "v1", host: "web.app.svc.cluster.local" }, "outbound|80|v1|web.app.svc.cluster.local"],
    [{ port: 0, subset: "", host: "10.0.0.1" }, "outbound|0||10.0.0.1"],
    [{ port: 65_535, subset: "", host: "::1" }, "outbound|65535||::1"],
    [{ port: 80, subset: "v1", host: "web.app", guest: "shop" }, "outbound|80|v1|web.app|shop"],
  ])("is formatted and parsed: %j", (key, name) => {
    expect(clusterName(key)).toBe(name)
    expect(parseClusterName(name)).toEqual(key)
  })

  it.each([
    "",
    "web",
    "inbound|80||web",
    "outbound|80|web",
    "outbound|65536||web",
    "outbound|080||web",
    "outbound|-1||web",
    "outbound|80||",
    "outbound|80||a|B",
    "outbound|80||a|",
    "outbound|80||a|b|c",
    `outbound|80||${"a".repeat(254)}`,
  ])("is not `%s`", name => {
    expect(parseClusterName(name)).toBeUndefined()
  })
})
