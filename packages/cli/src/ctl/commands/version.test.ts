// SPDX-License-Identifier: Apache-2.0
// `npx vitest run -u` rewrites the files.

import { expect, it } from "vitest"
import { versionJson, versionText } from "./version.js"

const own = { client: "1.2.3", node: "v24.0.0", platform: "linux x64" }
const mesh = { server: "v1.34.1", controlPlane: "1.2.3" }

it.each([
  ["of this program alone", "client", own],
  ["of everything that answers", "all", { ...own, ...mesh, proxies: { "1.2.3": 3, "1.2.2": 1 } }],
  ["of a mesh without proxies", "no-proxies", { ...own, ...mesh, proxies: {} }],
  ["of what a hostile server says", "hostile", { ...own, server: "v1\u001b[2J", controlPlane: "x\n", proxies: {} }],
])("the version %s", async (_, name, versions) => {
  await expect(`${versionText(versions)}\n`).toMatchFileSnapshot(`golden/version-${name}.txt`)
  await expect(`${versionJson(versions)}\n`).toMatchFileSnapshot(`golden/version-${name}.json.txt`)
})
