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

/** With the samples, a policy and some calls; `flags` are of `merlonctl up`. */
export async function startMesh(mesh: Merlonctl, flags: readonly string[]): Promise<void> {
  await did(mesh, "up", "--detach", ...flags)
  await did(mesh, "apply", "-f", "samples/policies/only-consumer.yaml", "--wait")
  for (let call = 1; call <= CALLS; call++) {
    await fetch(mesh.exposed("web.app", `/items/${call}`))
    await fetch(mesh.exposed("httpbin.foo", "/get"))
  }
  await did(mesh, "exec", "consumer", "-n", "app", "--", "xclient", "--host", "web", "--path", "/", "20")
}

/** So many that denied calls fill a page. */
const VISITS = 150

/** With the shop and what its visitors do; `flags` are of `merlonctl up`. */
export async function startShop(mesh: Merlonctl, flags: readonly string[]): Promise<void> {
  await did(mesh, "up", "--detach", "--shop", ...flags)
  const frontend = mesh.record.workloads.find(({ name }) => name === "frontend-1")
  if (frontend === undefined) throw new Error("the mesh has no frontend")
  const { address, xserver } = frontend.place
  for (let visit = 0; visit < VISITS; visit++) {
    await (await fetch(`http://${address}:${xserver}${visit % 3 === 0 ? "/buy" : "/"}`)).text()
  }
}

/** Signed in, with everything as in the pictures. */
export async function visitor(
  browser: Browser,
  mesh: Merlonctl,
  colorScheme: "light" | "dark" = "light",
): Promise<Page> {
  const context = await browser.newContext({
    ...{ viewport: SIZE, colorScheme, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" },
    // For trying other fonts.
    bypassCSP: true,
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  await page.goto((await did(mesh, "dashboard", "--no-open")).trim())
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  return page
}
