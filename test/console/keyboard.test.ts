// SPDX-License-Identifier: Apache-2.0
// Every page by keyboard alone: each control is reachable with Tab, shows that it has the focus, and works.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import type { Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { tabTo } from "./support/tab-to.js"
import { address, asOwnerAlone, complaints, mesh } from "./support/visit.js"

describe("by keyboard alone", () => {
  let page: Page
  beforeAll(async () => {
    await fetch(mesh.exposed("web.app", "/by-keyboard"))
    page = await asOwnerAlone()
    await page.getByRole("heading", { level: 1 }).waitFor()
  })

  /** Opens a page from the sidebar, starting at the top of an empty page. */
  async function open(title: string, heading: string): Promise<void> {
    await page.goto(address("/#/nowhere"))
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor()
    await tabTo(page, title)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: heading }).waitFor()
  }

  it("finds, opens and closes a decision, and filters similar ones out", async () => {
    await open("Traffic", "Traffic")
    await tabTo(page, "Filter traffic")
    await page.keyboard.type("/by-keyboard")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "path is /by-keyboard" }).waitFor()
    await page.getByRole("row").filter({ hasText: "/by-keyboard" }).first().waitFor()
    // Until the filtered response arrives, the list contains other decisions, which must not be chosen. The header stays.
    await expect.poll(() => page.getByRole("row").filter({ hasNotText: "/by-keyboard" }).count()).toBe(1)
    await tabTo(page, "Decisions")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Decision" }).waitFor()
    await tabTo(page, "Close")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Decision" }).waitFor({ state: "detached" })
    await expect.poll(() => page.evaluate<string>("document.activeElement.getAttribute('role')")).toBe("grid")
    await page.keyboard.press("x")
    await page.getByRole("button", { name: "path is not /by-keyboard" }).waitFor()
  })

  it("searches for a workload, opens it, and follows links to its neighbours", async () => {
    await open("Workloads", "Workloads")
    await tabTo(page, "Search by name")
    await page.keyboard.type("app/web-v1")
    await tabTo(page, "app/web-v1-1")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Workload app/web-v1-1" }).waitFor()
    await tabTo(page, "Map")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Map of app/web" }).waitFor()
  })

  it("starts a policy, edits it, leaves the editor, and reaches its error", async () => {
    await open("Policies", "Policies")
    await tabTo(page, "Require mTLS")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "New policy: require mTLS" }).waitFor()
    await tabTo(page, "Policy as YAML")
    await page.keyboard.press("ControlOrMeta+End")
    await page.keyboard.type("nonsense: 1")
    await page.getByRole("list", { name: "Errors" }).getByText("nonsense").first().waitFor()
    await page.keyboard.press("Shift+Home")
    await page.keyboard.press("Delete")
    await page.locator("button:enabled", { hasText: "Apply" }).waitFor()
    // Tab leaves the editor.
    await tabTo(page, "Apply")
  })

  it("shows what an identity can reach, and keeps the focus in the field", async () => {
    await open("Access", "Access")
    await tabTo(page, "Identity")
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("cluster.local/ns/app/sa/consumer")
    await page.keyboard.press("Enter")
    await page.getByText("No other access (proved)").or(page.getByText("There may be more")).first().waitFor()
    expect(await page.evaluate<string>("document.activeElement.tagName")).toBe("INPUT")
    expect(decodeURIComponent(page.url())).toContain("as=cluster.local/ns/app/sa/consumer")
    await tabTo(page, /calls of .* to app\/web/)
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Rules" }).waitFor()
  })

  it("switches a namespace to STRICT", async () => {
    await open("mTLS", "mTLS")
    await page.getByRole("link", { name: "Require mTLS in app" }).waitFor()
    await tabTo(page, "Require mTLS in app")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "New policy: require mTLS" }).waitFor()
  })

  it("reads the map as a table, changes the time range, and follows a link", async () => {
    await open("Map", "Map")
    await tabTo(page, "Time range")
    await page.keyboard.type("Last 7")
    await expect.poll(() => page.url()).toContain("since=7d")
    await page.getByRole("table").getByRole("link", { name: "app/web" }).first().waitFor()
    await tabTo(page, "app/web")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Map of app/web" }).waitFor()
  })

  it("evaluates a curl command, saves it as a test, and keeps all input", async () => {
    await open("Playground", "Playground")
    await tabTo(page, "Workload (namespace/name)")
    await page.keyboard.type("app/web-v1-1")
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.type("curl -X PUT http://web.app/items/1")
    await page.keyboard.press("Tab")
    // Tab moves the focus to the next field, where it stays.
    expect(await page.evaluate<string>("document.activeElement.name")).toBe("workload")
    await expect.poll(() => page.getByLabel("Method").inputValue()).toBe("PUT")
    expect(await page.getByLabel("Workload (").inputValue()).toBe("app/web-v1-1")
    await tabTo(page, "Evaluate")
    await page.keyboard.press("Enter")
    await page.getByRole("list", { name: "Stages" }).waitFor()
    await tabTo(page, "Save as a policy test")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Download" }).waitFor()
    await tabTo(page, "Download")
  })

  it("reaches the sign-out button", async () => {
    await page.goto(address("/#/nowhere"))
    // Until then the previous page is shown, and its focused element would disappear with it.
    await page.getByRole("heading", { name: "Page not found" }).waitFor()
    await tabTo(page, "Sign out")
    await page.keyboard.press("Enter")
    await page.getByLabel("Cluster token").waitFor()
  })
})

it("logs no error on any page", () => {
  expect(complaints.filter(text => !text.startsWith("Applying inline style"))).toEqual([])
})
