// SPDX-License-Identifier: Apache-2.0
// The pictures in the documentation still show what the pages show.

import { existsSync, readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { SIZE, see, VIEWS } from "../../scripts/screenshots/views.js"
import { apply, asOwner, kubectl, mesh } from "./support/visit.js"

const PNG = "89504e470d0a1a0a"

beforeAll(async () => {
  await apply({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "no-pictures", namespace: "app" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      rules: [{ to: [{ operation: { notPaths: ["/pictures"] } }] }],
    },
  })
  await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "-n", "app", "authorizationpolicy/no-pictures")
  // Another test of the same mesh may allow this for a moment.
  const isRefused = async () => (await fetch(mesh.wayIn("web.app", "/pictures"))).status === 403
  await vi.waitUntil(isRefused, { timeout: 90_000, interval: 500 })
})

afterAll(() => kubectl("delete", "-n", "app", "authorizationpolicy/no-pictures"))

test.each(VIEWS)("the picture of $name shows what the page shows", async view => {
  const file = `docs/images/console-${view.name}.png`
  expect(existsSync(file)).toBe(true)
  const picture = readFileSync(file)
  expect(picture.subarray(0, 8).toString("hex")).toBe(PNG)
  expect({ width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) }).toEqual(SIZE)
  await see(await asOwner(), view)
})
