// SPDX-License-Identifier: Apache-2.0
// A control plane that stops and restarts, and what pages show meanwhile.

import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import type { ClusterApi } from "../../e2e/control/support/cluster-api.js"
import type { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { announcement } from "../support/accessibility-tree.js"
import { address, asOwner, newContext, signInLink } from "../support/visit.js"

const PROBE_MS = 20

/** `flags` are those of the first start, so that the control plane restarts on the same ports. */
export function goesAway(mesh: Merlonctl, api: () => ClusterApi, flags: () => readonly string[]): void {
  describe("a control plane that stops", () => {
    it("shows a banner on every page until it answers again", async () => {
      // A separate process serves these pages, so that only the control plane behind them stops.
      const besidePort = await freePort()
      const beside = mesh.start(["dashboard", "--no-open", "--port", String(besidePort)])
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
            await page.goto(`http://127.0.0.1:${besidePort}/#${place}`)
            await page.getByRole("heading", { level: 1 }).waitFor()
            return page
          }),
        )
        await first.close()
        const own = await asOwner("/policies", mesh)
        await own.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()

        const { webhook: port } = mesh.record.ports
        const shown = [...pages, own].map(async page => {
          await page.getByText("The control plane has not answered since").waitFor()
          return Date.now()
        })
        const [stopped] = await Promise.all([stopsAnswering(port), mesh.run("down")])
        const after = (await Promise.all(shown)).map(at => at - stopped)
        console.info(`banners after the control plane stopped: ${after.join(", ")} ms`)
        for (const page of [...pages, own]) {
          expect(await announcement(page, "The control plane has not answered since")).toBe("assertive")
          // The last known content stays.
          await page.getByRole("heading", { level: 1 }).waitFor()
        }

        await mesh.run("up", "--detach", "--shop", ...flags())
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

        // The control plane's own console restarted with it and lost its sessions.
        await own.getByText("You are signed out").waitFor()
        await own.goto(signInLink(mesh))
        await own.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
      } finally {
        beside.child.kill("SIGTERM")
        await beside.ended
      }
    })

    it("shows the sample shop, and nothing of it after a restart without it", async () => {
      const page = await asOwner("/?ns=shop", mesh)
      await page.getByText("shop/cart is denied by shop/payment").first().waitFor()
      await page.locator(".react-flow__edge.plaintext").first().waitFor({ state: "attached" })
      await page.locator(".react-flow__edge.denied").first().waitFor({ state: "attached" })

      await mesh.run("down")
      await mesh.run("up", "--detach", "--no-shop", ...flags())
      await mesh.run("delete", "namespace", "shop")
      await page.goto(signInLink(mesh))
      await page.goto(address("/#/?ns=shop", mesh))
      await page.getByRole("heading", { level: 1, name: "Nothing needs attention" }).waitFor()
      await page.getByText("No traffic reported yet.").waitFor()
      await page.goto(address("/#/traffic?ns=shop", mesh))
      await page.getByText("No decisions yet").waitFor()
      expect(await page.getByRole("row").count()).toBe(0)
      await page.goto(address("/#/workloads?ns=shop", mesh))
      await page.getByText("No workloads yet").waitFor()
    })
  })
}

/** The time when the control plane stopped answering, to within a few milliseconds. */
async function stopsAnswering(port: number): Promise<number> {
  for (;;) {
    const socket = connect(port, "127.0.0.1")
    try {
      await once(socket, "connect")
    } catch {
      return Date.now()
    } finally {
      socket.destroy()
    }
    await sleep(PROBE_MS)
  }
}
