// SPDX-License-Identifier: Apache-2.0
// The console works with a thousand workloads and a hundred decisions per second. The number of drawn rows is bounded; no
// test here asserts time.

import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { KubernetesObject } from "../../../packages/control/src/kubernetes/resource-type.js"
import type { ClusterApi } from "../../e2e/control/support/cluster-api.js"
import type { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { Load } from "../support/load.js"
import { address, asOwner } from "../support/visit.js"

const NAMESPACES = 10
const EACH = 100
/** The most rows that a page may draw. A page with more rows than this draws all of them. */
const MOST_ROWS = 450
const MOST_STOPS = 10

function pod(namespace: string, name: string): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name, tier: "crowd" } },
    spec: {
      serviceAccountName: "default",
      containers: [{ name: "app", image: "app", ports: [{ containerPort: 8080 }] }],
    },
  }
}

async function fill(api: ClusterApi): Promise<void> {
  for (let at = 0; at < NAMESPACES; at++) {
    const namespace = `crowd-${at}`
    await api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
    await Promise.all(Array.from({ length: EACH }, (_, n) => api.put(pod(namespace, `worker-${n}`))))
  }
}

const rowsIn = (page: Page): Promise<number> => page.locator("tr, [role=row], li, option").count()

/** Adds the workloads to the mesh and leaves them there. */
export function large(mesh: Merlonctl, api: () => ClusterApi): void {
  describe("a thousand workloads", () => {
    beforeAll(() => fill(api()))

    it("are found by name, by keyboard", async () => {
      const page = await asOwner("/workloads", mesh)
      await page.getByText(/^1,0\d\d of 1,0\d\d, first 300 shown$/).waitFor()
      expect(await rowsIn(page)).toBeLessThan(MOST_ROWS)
      await page.getByLabel("Search by name").focus()
      await page.keyboard.type("crowd-7/worker-77")
      await page.getByText(/^1 of 1,0\d\d$/).waitFor()
      // Skips the column headers, which are buttons for sorting.
      const focused = (): Promise<string> => page.evaluate<string>("document.activeElement.textContent")
      for (let stop = 0; stop < MOST_STOPS && (await focused()) !== "crowd-7/worker-77"; stop++)
        await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Workload crowd-7/worker-77" }).waitFor()
      await page.getByText("tier=crowd").waitFor()
    })

    it("are only partly drawn, and open by click or by keyboard", async () => {
      const page = await asOwner("/workloads", mesh)
      for (const [index, [link, heading]] of (
        [
          ["Overview", /attention/],
          ["Policies", "Policies"],
          ["Access", "Access"],
          ["mTLS", "mTLS"],
          ["Map", "Map"],
          ["Playground", "Playground"],
          ["Traffic", "Traffic"],
        ] as const
      ).entries()) {
        const next = page.getByRole("link", { name: link, exact: true })
        await (index % 2 === 0 ? next.click() : next.press("Enter"))
        await page.getByRole("heading", { level: 1, name: heading }).waitFor()
        await expect.poll(() => page.getByText("Loading…").count()).toBe(0)
        expect(await rowsIn(page), link).toBeLessThan(MOST_ROWS * 2)
      }
    })

    it("are listed with plaintext receivers first, and can be searched", async () => {
      await fetch(mesh.exposed("httpbin.foo", "/get"))
      const page = await asOwner("/mtls", mesh)
      await page.getByText("receives plaintext").first().waitFor()
      await expect.poll(() => page.getByRole("heading", { level: 2 }).first().textContent()).toBe("foo")
      await page.getByLabel("Search by namespace or name").fill("crowd-3/worker-42")
      await page.getByRole("link", { name: "worker-42", exact: true }).waitFor()
      await expect.poll(() => page.locator("tbody tr").count()).toBe(1)
    })
  })

  describe("a hundred decisions per second", () => {
    const load = new Load(path => mesh.exposed("httpbin.foo", path), 100)
    afterAll(() => load.stop())

    it("appear live, and the focused row keeps the focus", async () => {
      load.start()
      const page = await asOwner("/traffic?path=/anything/load/*", mesh)
      await page.getByText("· live").waitFor()
      await expect.poll(() => page.getByRole("row").count()).toBeGreaterThan(20)
      expect(await page.getByRole("row").count()).toBeLessThan(100)

      const grid = page.getByRole("grid")
      await grid.focus()
      for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowDown")
      // The relative time on a row changes; its `datetime` attribute does not.
      const inHand = async (): Promise<string> =>
        `${await page.locator(".row.focused time").getAttribute("datetime")} ${await page.locator(".row.focused > :nth-child(6)").textContent()}`
      const held = await inHand()
      const sentThen = load.sent
      await expect.poll(() => load.sent).toBeGreaterThan(sentThen + 100)
      await page.getByText(/\d+ above, Home goes there/).waitFor()
      await expect
        .poll(async () =>
          Number(/(\d[\d,]*) above/.exec((await page.locator(".keys").textContent()) ?? "")?.[1]?.replaceAll(",", "")),
        )
        .toBeGreaterThan(20)
      expect(await inHand()).toBe(held)
      await page.keyboard.press("Enter")
      const detail = page.getByRole("region", { name: "Decision" })
      await detail.getByText("Why (current policies)").waitFor()
      expect(held).toContain((await detail.getByRole("heading", { level: 2 }).textContent())?.replace("GET ", ""))

      await page.getByRole("button", { name: "Pause" }).click()
      await page.getByRole("button", { name: "Pause", pressed: true }).waitFor()
      await page.getByRole("link", { name: "Overview", exact: true }).click()
      await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
    })

    it("fill a table of at most ten thousand rows, which scrolls to its end", async () => {
      const page = await asOwner("/", mesh)
      // As many decisions as ten proxies remember: copies of those of one proxy, under other names.
      await page.route(/\/decisions\?limit=/, async route => {
        const answer = await route.fetch()
        const list = (await answer.json()) as { items: { metadata: { name: string } }[] }
        const items = Array.from({ length: 9_990 }, (_, at) => {
          const item = list.items[at % list.items.length]
          return { ...item, metadata: { ...item?.metadata, name: `copy-${at}` } }
        })
        await route.fulfill({ response: answer, json: { ...list, items } })
      })
      await page.goto(address("/#/traffic?path=/anything/load/*", mesh))
      await page.getByText("10,000 shown").waitFor()
      load.stop()
      expect(await page.getByRole("row").count()).toBeLessThan(100)
      await page.getByRole("button", { name: "Pause" }).click()
      await page.getByRole("grid").focus()
      await page.keyboard.press("End")
      await page.locator("[aria-rowindex='10001']").waitFor()
      expect(await page.getByRole("row").count()).toBeLessThan(100)
      await page.keyboard.press("Home")
      await page.locator("[aria-rowindex='2']").waitFor()
      await page.getByRole("grid").hover()
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, 100_000)
          return page.locator("[aria-rowindex='10001']").count()
        })
        .toBe(1)
      expect(await page.getByRole("row").count()).toBeLessThan(100)
    })
  })
}
