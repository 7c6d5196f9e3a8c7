// SPDX-License-Identifier: Apache-2.0
// A hidden page sends no queries. When it becomes visible again, nothing is missing.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import type { Page, Request } from "playwright-core"
import { expect, it } from "vitest"
import { asOwner, asOwnerAlone, complaints, kubectl, mesh, SELDOM } from "./support/visit.js"

/** Hides or shows the page, as a browser does for a background tab. A headless browser never does that on its own. */
function see(page: Page, isSeen: boolean): Promise<void> {
  return page.evaluate<void>(`(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => ${!isSeen} })
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${isSeen ? "visible" : "hidden"}" })
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))
  })()`)
}

/** Two proxies answer in turn, and decisions within the same millisecond have no order. */
async function nextMillisecond(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise(setImmediate)
}

/** Longer than every polling interval. */
const LONG = 120_000

it("stops following decisions while hidden, and then lists the missed ones once each and in order", async () => {
  const page = await asOwner("/traffic?path=/hidden/*")
  await page.getByText("· live").waitFor()
  await fetch(mesh.exposed("web.app", "/hidden/before"))
  await page.getByRole("row").filter({ hasText: "/hidden/before" }).waitFor()

  const isStream = (request: Request): boolean => request.url().includes("decisions?watch=true")
  const ended = page.waitForEvent("requestfailed", isStream)
  await see(page, false)
  await ended
  const asked: string[] = []
  page.on("request", request => asked.push(request.url()))
  for (const name of ["one", "two", "three"]) {
    await fetch(mesh.exposed("web.app", `/hidden/${name}`))
    await nextMillisecond()
  }
  const received = "/apis/answers.merlon.dev/v1alpha1/decisions?path=/hidden/*"
  await expect.poll(() => kubectl("get", "--raw", received), SELDOM).toContain("/hidden/three")
  expect(asked.filter(url => url.includes("decisions"))).toEqual([])
  expect(await page.getByText("/hidden/three").count()).toBe(0)

  await see(page, true)
  await page.getByText("/hidden/three").waitFor()
  await fetch(mesh.exposed("web.app", "/hidden/after"))
  await page.getByText("/hidden/after").waitFor()
  const paths = await page.locator(".row > :nth-child(6)").allTextContents()
  expect(paths).toEqual(["after", "three", "two", "one", "before"].map(name => `/hidden/${name}`))

  // A page that is paused before the first response still shows the earlier decisions.
  let paused = (): void => undefined
  const isPaused = new Promise<void>(resolve => {
    paused = resolve
  })
  await page.route(/decisions\?limit/, async route => {
    await isPaused
    await route.continue()
  })
  await page.reload()
  await page.getByRole("button", { name: "Pause", pressed: false }).click()
  paused()
  await page.getByText("/hidden/after").waitFor()
})

it("polls nothing while hidden, and refreshes at once when shown", async () => {
  const page = await asOwnerAlone()
  await page.clock.install()
  await page.reload()
  await page.getByRole("heading", { level: 2, name: "Needs attention" }).waitFor()
  const asked: string[] = []
  page.on("request", request => asked.push(request.url()))
  // The visible page polls; otherwise the rest of the test would prove nothing.
  await page.clock.runFor(LONG)
  await expect.poll(() => asked.some(url => url.includes("/proxies"))).toBe(true)

  await see(page, false)
  // A pending response may cause one more query. If polling continued, this would never become empty.
  await expect
    .poll(async () => {
      const before = asked.length
      await page.clock.runFor(LONG)
      return asked.slice(before)
    })
    .toEqual([])

  asked.length = 0
  await see(page, true)
  await expect.poll(() => asked.some(url => url.includes("/proxies"))).toBe(true)
})

it("logs no error on any page", () => {
  expect(complaints).toEqual([])
})
