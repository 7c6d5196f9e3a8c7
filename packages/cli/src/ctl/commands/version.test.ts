// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { versionText } from "./version.js"

const own = { client: "1.2.3", node: "v24.0.0", platform: "linux x64" }

it.each([
  ["of this program alone", own, "merlonctl 1.2.3 (node v24.0.0, linux x64)"],
  [
    "of everything that answers",
    { ...own, server: "v1.34.1", controlPlane: "1.2.3", proxies: { "1.2.3": 3, "1.2.2": 1 } },
    "merlonctl 1.2.3 (node v24.0.0, linux x64)\ncontrol plane 1.2.3\nproxies 1.2.2 (1), 1.2.3 (3)\nAPI server v1.34.1",
  ],
  [
    "of a mesh without proxies",
    { ...own, server: "v1.34.1", controlPlane: "1.2.3", proxies: {} },
    "merlonctl 1.2.3 (node v24.0.0, linux x64)\ncontrol plane 1.2.3\nproxies none\nAPI server v1.34.1",
  ],
])("the version %s", (_, versions, text) => {
  expect(versionText(versions)).toBe(text)
})
