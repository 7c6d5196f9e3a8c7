// SPDX-License-Identifier: Apache-2.0
// A control plane that stops and comes back, and what pages show meanwhile.

import { describe, expect, it } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import type { ClusterApi } from "../../e2e/control/support/cluster-api.js"
import type { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { asOwner, newContext, signInLink } from "../support/visit.js"

/** `flags` are those it was started with: it comes back where it was. */
export function goesAway(mesh: Merlonctl, api: () => ClusterApi, flags: () => readonly string[]): void {
  describe("a control plane that goes away", () => {
    it("is said to be away by every page, which goes on by itself when it is back", async () => {
      // Served beside it, so that only what is behind goes away.
      const port = await freePort()
      const beside = mesh.start(["dashboard", "--no-open", "--port", String(port)])
      try {
        await expect.poll(() => beside.output()).toContain("#/sign-in?code=")
        const context = await newContext()
        const link = beside.output().split("\n")[0] ?? ""
        const first = await context.newPage()
        await first.goto(link)
        await first.getByRole("button", { name: "Sign out" }).waitFor()
        const places = ["/", "/traffic", "/policies", "/map"]
        const pages = await Promise.all(
          places.map(async place => {
            const page = await context.newPage()
            await page.goto(`http://127.0.0.1:${port}/#${place}`)
            await page.getByRole("heading", { level: 1 }).waitFor()
            return page
          }),
        )
        await first.close()
        const own = await asOwner("/policies", mesh)
        await own.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()

        await mesh.run("down")
        for (const page of [...pages, own]) {
          await page.getByText("The control plane has not answered since").waitFor()
          // What was known stays.
          await page.getByRole("heading", { level: 1 }).waitFor()
        }

        await mesh.run("up", "--detach", ...flags())
        for (const page of pages) {
          await page.getByText("The control plane has not answered since").waitFor({ state: "detached" })
        }
        await api().put({
          apiVersion: "security.merlon.dev/v1alpha3",
          kind: "PeerAuthentication",
          metadata: { name: "afterwards", namespace: "app" },
          spec: { mtls: { mode: "PERMISSIVE" } },
        })
        await pages[2]?.getByText("app/afterwards").waitFor()
        await fetch(mesh.exposed("web.app", "/afterwards"))
        await pages[1]?.getByText("/afterwards").first().waitFor()

        // Its own console began anew with it, and knows nobody any more.
        await own.getByText("You are signed out").waitFor()
        await own.goto(signInLink(mesh))
        await own.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
      } finally {
        beside.child.kill("SIGTERM")
        await beside.ended
      }
    })
  })
}
