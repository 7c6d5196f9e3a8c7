// SPDX-License-Identifier: Apache-2.0
// The mesh and the user of the console's screenshots.

import type { Browser, Page } from "playwright-core"
import type { Merlonctl } from "../../test/e2e/local/support/merlonctl.js"
import { SIZE } from "./views.js"

const CALLS = 8

async function did(mesh: Merlonctl, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await mesh.run(...args)
  if (code !== 0) throw new Error(`merlonctl ${args.join(" ")}: ${stderr}`)
  return stdout
}

/** Starts a mesh with the samples, a policy and some calls; `flags` are passed to `merlonctl up`. */
export async function startMesh(mesh: Merlonctl, flags: readonly string[]): Promise<void> {
  await did(mesh, "up", "--detach", ...flags)
  await did(mesh, "apply", "-f", "samples/policies/only-consumer.yaml", "--wait")
  for (let call = 1; call <= CALLS; call++) {
    await fetch(mesh.exposed("web.app", `/items/${call}`))
    await fetch(mesh.exposed("httpbin.foo", "/get"))
  }
  await did(mesh, "exec", "consumer", "-n", "app", "--", "xclient", "--host", "web", "--path", "/", "20")
}

/** Enough for denied calls to fill a page. */
const VISITS = 150

/** Starts a mesh with the shop and calls of its visitors; `flags` are passed to `merlonctl up`. */
export async function startShop(mesh: Merlonctl, flags: readonly string[]): Promise<void> {
  await did(mesh, "up", "--detach", "--shop", ...flags)
  const frontend = mesh.record.workloads.find(({ name }) => name === "frontend-1")
  if (frontend === undefined) throw new Error("the mesh has no frontend")
  const { address, xserver } = frontend.place
  for (let visit = 0; visit < VISITS; visit++) {
    await (await fetch(`http://${address}:${xserver}${visit % 3 === 0 ? "/buy" : "/"}`)).text()
  }
}

/** Opens a signed-in page with the settings of the screenshots. */
export async function visitor(
  browser: Browser,
  mesh: Merlonctl,
  colorScheme: "light" | "dark" = "light",
): Promise<Page> {
  const context = await browser.newContext({
    ...{ viewport: SIZE, colorScheme, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" },
    // Allows trying other fonts.
    bypassCSP: true,
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  await page.goto((await did(mesh, "dashboard", "--no-open")).trim())
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  return page
}
