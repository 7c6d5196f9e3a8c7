// SPDX-License-Identifier: Apache-2.0
// Recorded and proved answers on the console's pages: why a call is denied, the effect of a change, plaintext callers, and a
// request that is evaluated and saved as a policy test.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text as textOf } from "node:stream/consumers"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"
import { announcement } from "./support/accessibility-tree.js"
import { tabTo } from "./support/tab-to.js"
import { address, apply, asOwner, complaints, kubectl, mesh, SELDOM } from "./support/visit.js"

const GROUP = "security.merlon.dev/v1alpha3"
const CONSUMER = "cluster.local/ns/app/sa/consumer"

/** A policy for httpbin, since other tests change the policies of web. */
const readers = {
  apiVersion: GROUP,
  kind: "AuthorizationPolicy",
  metadata: { name: "readers", namespace: "foo" },
  spec: {
    selector: { matchLabels: { app: "httpbin" } },
    rules: [{ to: [{ operation: { methods: ["GET"] } }] }],
  },
}

const noDeletes = {
  apiVersion: GROUP,
  kind: "PolicyInvariant",
  metadata: { name: "no-deletes", namespace: "foo" },
  spec: { never: [{ name: "nobody deletes", to: [{ operation: { methods: ["DELETE"] } }] }] },
}

beforeAll(async () => {
  await apply(readers, noDeletes)
  await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "-n", "foo", "authorizationpolicy/readers")
  await kubectl("wait", "--for=condition=Holds", "--timeout=120s", "-n", "foo", "policyinvariant/no-deletes")
})

afterAll(async () => {
  await kubectl("delete", "policyinvariant", "-n", "foo", "no-deletes", "--ignore-not-found")
  await kubectl("delete", "authorizationpolicy", "-n", "foo", "readers", "--ignore-not-found")
})

/** Starts to count clicks, and returns a function that reads the count. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate<void>('window.clicks = 0; addEventListener("click", () => { window.clicks += 1 }, true)')
  return () => page.evaluate<number>("window.clicks")
}

/** The red, green and blue values of a badge's text colour. */
async function coloursOf(page: Page, badge: string): Promise<readonly number[]> {
  await page.locator(".badge", { hasText: badge }).first().waitFor()
  const colour = await page.evaluate<string>(`(() => {
    const badge = [...document.querySelectorAll(".badge")].find(({ textContent }) => textContent === ${JSON.stringify(badge)})
    return getComputedStyle(badge).color
  })()`)
  return [...colour.matchAll(/[\d.]+/g)].map(Number)
}

it("shows a denied call at once, why it was denied, and the smallest change that would allow it", async () => {
  const page = await asOwner("/traffic?verdict=deny&workload=httpbin*")
  await page.getByText("· live").waitFor()
  const before = await page.getByRole("row").count()
  expect((await fetch(mesh.exposed("httpbin.foo", "/anything/denied"), { method: "DELETE" })).status).toBe(403)
  const row = page.getByRole("row").filter({ hasText: "/anything/denied" }).first()
  await row.waitFor()
  expect(before).toBeLessThan(await page.getByRole("row").count())

  await page.getByRole("grid").focus()
  await page.keyboard.press("Home")
  await page.keyboard.press("Enter")
  const detail = page.getByRole("region", { name: "Decision" })
  await detail.getByText("wants one of GET, the request has DELETE").or(detail.getByText("wants GET")).first().waitFor()
  await detail.getByText("Smallest change that would allow it").waitFor()

  await page.getByRole("grid").focus()
  await page.keyboard.press("x")
  await page.getByRole("button", { name: "path is not /anything/denied" }).waitFor()
  expect(decodeURIComponent(page.url())).toContain("not-path=/anything/denied")
  await row.waitFor({ state: "detached" })
})

it("lists a call that is denied while the page opens the stream", async () => {
  const page = await asOwner()
  await page.route(/decisions\?watch=true/, async route => {
    await fetch(mesh.exposed("httpbin.foo", "/anything/in-between"), { method: "DELETE" })
    await route.continue()
  })
  await page.goto(address("/#/traffic?verdict=deny&workload=httpbin*"))
  await page.getByRole("row").filter({ hasText: "/anything/in-between" }).first().waitFor()
})

it("shows the proved effect of a change while the user types", async () => {
  const page = await asOwner("/policies/AuthorizationPolicy/foo/readers")
  await page.getByRole("textbox", { name: "Policy as YAML" }).click()
  await page.keyboard.press("ControlOrMeta+a")
  const wider = { ...readers, spec: { ...readers.spec, rules: [{ to: [{ operation: { methods: ["GET", "PUT"] } }] }] } }
  await page.keyboard.insertText(JSON.stringify(wider))
  await page.getByText("newly allowed").waitFor()
  const [red = 0, , little = 0] = await coloursOf(page, "newly allowed")
  expect(red, "widening is amber").toBeGreaterThan(little)
  await page.getByText("for example PUT /").first().waitFor()
  await page.getByText("Nothing else changes (proved).").waitFor()
  // The page lists the recorded calls that the change would deny.
  await fetch(mesh.exposed("httpbin.foo", "/anything/touched"))
  const calls = "/apis/answers.merlon.dev/v1alpha1/namespaces/foo/calls?path=/anything/touched"
  await expect.poll(() => kubectl("get", "--raw", calls), SELDOM).toContain("lastSeen")
  await page.keyboard.press("ControlOrMeta+a")
  const narrower = { ...readers, spec: { ...readers.spec, rules: [{ to: [{ operation: { methods: ["PUT"] } }] }] } }
  await page.keyboard.insertText(JSON.stringify(narrower))
  const seen = page.getByRole("region", { name: "Recorded calls" })
  await seen.getByText("GET /anything/touched").waitFor()
  const [less = 0, , blue = 0] = await coloursOf(page, "newly denied (403)")
  expect(blue, "narrowing is blue").toBeGreaterThan(less)
})

it("rejects a change that breaks an invariant, with an example request", async () => {
  const page = await asOwner("/policies/AuthorizationPolicy/foo/readers")
  await page.getByRole("textbox", { name: "Policy as YAML" }).click()
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.insertText(JSON.stringify({ ...readers, spec: { selector: readers.spec.selector, rules: [{}] } }))
  await page.getByText("nobody deletes").first().waitFor()
  await page.getByText("Breaks an invariant").or(page.getByText("An invariant could not be decided")).first().waitFor()
  expect(await page.getByText("Your account lacks this right").count()).toBe(0)
  expect(await page.getByRole("button", { name: "Apply" }).isDisabled()).toBe(true)
})

it("evaluates a request from a curl command, and saves it as a policy test that `merlonctl test` runs", async () => {
  const page = await asOwner(`/playground?workload=foo/httpbin-1&from=${CONSUMER}`)
  await page.getByLabel("curl command").fill("curl -X PUT http://httpbin.foo:8000/anything/1")
  await page.getByLabel("curl command").blur()
  await page.getByText("denied with 403").or(page.getByText("with 403: RBAC")).first().waitFor()
  await page.getByText("Save as a policy test").click()
  const downloading = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download" }).click()
  const folder = mkdtempSync(join(tmpdir(), "console-test-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "saved.test.yaml")
  await (await downloading).saveAs(file)
  expect(readFileSync(file, "utf8")).toContain("expect: 403")
  const policy = join(folder, "readers.yaml")
  writeFileSync(policy, JSON.stringify(readers))
  const { code, stdout, stderr } = await mesh.run("test", folder)
  expect({ code, stderr, stdout }).toMatchObject({ code: 0 })
})

it("lists plaintext callers of the chosen window, and warns of them before the switch to STRICT", async () => {
  await fetch(mesh.exposed("httpbin.foo", "/get"))
  const page = await asOwner("/mtls")
  const section = page.getByRole("region", { name: "foo" })
  await section.getByText("receives plaintext").waitFor()
  await section.getByText("would be blocked").waitFor()
  await section.getByRole("listitem").filter({ hasText: "127.0.0.1, which calls httpbin-1" }).waitFor()
  // No workload is ready while the mesh is younger than the window.
  await page.getByText("Ready means: observed for 7 days").waitFor()
  const answered = page.waitForResponse(response => response.url().includes("readiness?window=30d"))
  await page.getByLabel("Observation window").selectOption("30 days")
  expect((await answered).status()).toBe(200)
  await page.getByText("Ready means: observed for 30 days").waitFor()
  await section.getByText("receives plaintext").waitFor()
  expect(await page.getByText("ready for STRICT").count()).toBe(0)
  await section.getByRole("link", { name: "Require mTLS in foo" }).click()
  await page.getByRole("heading", { name: "New policy: require mTLS" }).waitFor()
  await page.getByText("namespace: foo").waitFor()
})

it("draws calls between services, and lists them in a table", async () => {
  await fetch(mesh.exposed("httpbin.foo", "/get"))
  await mesh.run("exec", "consumer", "-n", "app", "--", "xclient", "--host", "httpbin.foo:8000", "--path", "/get", "1")
  const page = await asOwner("/map/foo/httpbin-1")
  const table = page.getByRole("table", { name: "Map as a table" })
  await table.getByRole("row").filter({ hasText: "app/consumer" }).getByText("mTLS").waitFor()
  await table.getByRole("row").filter({ hasText: "in plaintext" }).first().waitFor()
  await page.locator(".react-flow__node.service").filter({ hasText: "consumer" }).waitFor()
})

it("lists the policies of a workload in evaluation order, including those that target a Service", async () => {
  const spec = {
    targetRefs: [{ kind: "Service", name: "httpbin" }],
    action: "DENY",
    rules: [{ to: [{ operation: { paths: ["/never"] } }] }],
  }
  await apply({ apiVersion: GROUP, kind: "AuthorizationPolicy", metadata: { name: "named", namespace: "foo" }, spec })
  try {
    const page = await asOwner("/workloads/foo/httpbin-1")
    const order = page.getByRole("region", { name: "Policies in evaluation order" })
    await order.getByRole("listitem").filter({ hasText: "deny" }).getByRole("link", { name: "foo/named" }).waitFor()
    await order.getByRole("listitem").filter({ hasText: "allow" }).getByRole("link", { name: "foo/readers" }).waitFor()
    await order.getByRole("listitem").filter({ hasText: "token" }).getByText("none").waitFor()
  } finally {
    await kubectl("delete", "authorizationpolicy", "-n", "foo", "named")
  }
})

it("shows who can call a workload, proved, and who called it", async () => {
  const page = await asOwner("/workloads/foo/httpbin-1")
  await page.getByText("No other access (proved).").waitFor()
  await page.getByRole("link", { name: "rule 0 of foo/readers" }).first().waitFor()
})

it("shows the policy that sets the mTLS mode of a port, and the policies that it overrides", async () => {
  const spec = { selector: { matchLabels: { app: "httpbin" } }, mtls: { mode: "PERMISSIVE" } }
  const peer = (name: string) => ({
    apiVersion: GROUP,
    kind: "PeerAuthentication",
    metadata: { name, namespace: "foo" },
    spec,
  })
  await apply(peer("a-first"))
  await apply(peer("b-second"))
  const page = await asOwner("/workloads/foo/httpbin-1")
  const modes = page.getByRole("region", { name: "mTLS mode of each port" })
  await modes.getByText("foo/a-first sets it for the workload").first().waitFor()
  await modes.getByText("foo/b-second: an older policy of the same workload scope wins").first().waitFor()
  const order = page.getByRole("region", { name: "Policies in evaluation order" })
  await order
    .getByRole("listitem")
    .filter({ hasText: "transport" })
    .getByRole("link", { name: "foo/a-first" })
    .waitFor()
  await order.getByRole("listitem").filter({ hasText: "allow" }).getByRole("link", { name: "foo/readers" }).waitFor()
  await page.getByText(/^expires in \d+ hr/).waitFor()
  await kubectl("delete", "peerauthentication", "-n", "foo", "a-first", "b-second")
  await modes.getByText("the default: no PeerAuthentication sets it").first().waitFor()
})

it("opens a suggested policy and its proofs in the editor", async () => {
  await mesh.run("exec", "consumer", "-n", "app", "--", "xclient", "--host", "httpbin.foo:8000", "--path", "/get", "1")
  const page = await asOwner("/workloads/foo/httpbin-1")
  await page.getByRole("button", { name: "Suggest a policy from recorded calls" }).click()
  await page.getByText("recorded calls stay allowed").waitFor()
  await page.getByRole("textbox", { name: "Policy as YAML" }).getByText("enforcement: Shadow").waitFor()
})

it("counts the calls of the last hour, and lists findings about valid policies", async () => {
  await fetch(mesh.exposed("httpbin.foo", "/get"))
  await fetch(mesh.exposed("httpbin.foo", "/anything/x"), { method: "DELETE" })
  const page = await asOwner("/")
  const calls = page.getByRole("region", { name: "Requests per minute" })
  await calls.getByText(/[1-9]\d* allowed/).waitFor()
  await calls.getByText(/[1-9]\d* denied/).waitFor()
  // The last minute is at the right end.
  const chart = calls.locator(".u-over")
  await chart.scrollIntoViewIfNeeded()
  const { width = 0 } = (await chart.boundingBox()) ?? {}
  await chart.hover({ position: { x: width - 3, y: 20 } })
  await calls.getByText(/^at \d\d:\d\d/).waitFor()
  await page.getByRole("link", { name: "Invariants", exact: true }).click()
  const found = page.getByRole("region", { name: "Findings" })
  await found.getByRole("listitem").or(found.getByText("No dead rule")).first().waitFor()
})

it("proves the access of each identity to each workload, opens the rules of a cell, and exports CSV", async () => {
  const spec = { action: "DENY", rules: [{ from: [{ source: { principals: ["cluster.local/ns/app/sa/web"] } }] }] }
  await apply({ apiVersion: GROUP, kind: "AuthorizationPolicy", metadata: { name: "no-web", namespace: "foo" }, spec })
  try {
    await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "-n", "foo", "authorizationpolicy/no-web")
    await mesh.run(
      "exec",
      "consumer",
      "-n",
      "app",
      "--",
      "xclient",
      "--host",
      "httpbin.foo:8000",
      "--path",
      "/get",
      "1",
    )
    const page = await asOwner("/access")
    await page.getByRole("button", { name: "Prove who can", pressed: true }).waitFor()
    const cell = (from: string, to: string) => page.getByRole("button", { name: `calls of ${from} to ${to}` })
    for (const [from, to, access] of [
      ["app/consumer", "app/consumer-1", "all"],
      ["app/consumer", "foo/httpbin-1", "some"],
      ["app/web", "foo/httpbin-1", "none"],
    ] as const)
      await cell(from, to).getByText(access, { exact: true }).waitFor()
    await cell("app/consumer", "foo/httpbin-1").click()
    const rules = page.getByRole("region", { name: "Rules" })
    await rules.getByText("rule 0 of foo/readers").first().waitFor()
    await rules.getByText("No other access (proved).").waitFor()

    const downloading = page.waitForEvent("download")
    await page.getByRole("button", { name: "Export CSV" }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe("access.csv")
    const lines = (await textOf(await download.createReadStream())).trimEnd().split(/\r?\n/)
    const [[, ...workloads] = [], ...rows] = lines.map(line => line.split(","))
    const resultOf = (from: string, to: string) => rows.find(([caller]) => caller === from)?.[workloads.indexOf(to) + 1]
    expect(resultOf("app/consumer", "foo/httpbin-1")).toMatch(/^"?some/)
    expect(resultOf("app/web", "foo/httpbin-1")).toMatch(/^"?none/)
  } finally {
    await kubectl("delete", "authorizationpolicy", "-n", "foo", "no-web")
  }
})

it("applies a fix for a denied call in three clicks (row, Allow this…, Apply), and shows its enforcement", async () => {
  try {
    expect((await fetch(mesh.exposed("httpbin.foo", "/anything/fix"), { method: "PUT" })).status).toBe(403)
    const page = await asOwner("/traffic?verdict=deny&path=/anything/fix")
    let isFilled = false
    // The first responses after Apply report that no proxy enforces the policy yet.
    await page.route(/authorizationpolicies\/readers$/, async route => {
      const answer = await route.fetch()
      const body = await answer.text()
      await route.fulfill({
        response: answer,
        body: isFilled ? body : body.replace(/by 1 of 1 prox/g, "by 0 of 1 prox"),
      })
    })
    const clicks = await countClicks(page)
    await page.getByRole("row").filter({ hasText: "/anything/fix" }).first().click()
    const panel = page.getByRole("region", { name: "Decision" })
    await panel.getByText("Smallest change that would allow it").waitFor()
    await panel.getByRole("button", { name: "Allow this…" }).click()
    await panel.getByText("newly allowed").waitFor()
    // On a busy machine the proofs may run out of time. The panel reports that instead.
    await panel
      .getByText(/invariants? holds? after this change/)
      .or(panel.locator(".warning", { hasText: /decide/ }))
      .first()
      .waitFor()
    await panel.locator("button:enabled", { hasText: "Apply" }).click()
    await panel.getByText("enforced by 0 of 1 proxy").waitFor()
    expect(await panel.getByRole("progressbar").getAttribute("value")).toBe("0")
    isFilled = true
    await panel.getByText("enforced by 1 of 1 proxy").waitFor()
    expect(await panel.getByRole("progressbar").getAttribute("value")).toBe("1")
    expect(await clicks()).toBe(3)
    expect((await fetch(mesh.exposed("httpbin.foo", "/anything/fix"), { method: "PUT" })).status).toBe(200)
    // The explanation is evaluated again with the applied policy.
    await panel.locator(".explanation .badge", { hasText: "allowed" }).waitFor()
  } finally {
    await apply(readers)
  }
})

it("applies a fix for a denied call by keyboard alone, announces it, and restores the focus", async () => {
  try {
    expect((await fetch(mesh.exposed("httpbin.foo", "/anything/keys"), { method: "PATCH" })).status).toBe(403)
    const page = await asOwner("/traffic?verdict=deny&path=/anything/keys")
    await page.getByRole("row").filter({ hasText: "/anything/keys" }).first().waitFor()
    await tabTo(page, "Decisions")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.locator("section[aria-label=Decision]:focus").waitFor()
    await page.getByText("Smallest change that would allow it").waitFor()
    await tabTo(page, "Allow this…")
    await page.keyboard.press("Enter")
    await page.locator("section[aria-label='Allow this']:focus").waitFor()
    await page.locator(".proposal button:enabled", { hasText: /^Apply$/ }).waitFor()
    await tabTo(page, "Apply")
    await page.keyboard.press("Enter")
    await page.locator(".proposal:focus").waitFor()
    await page.getByText("enforced by 1 of 1 proxy").waitFor()
    expect(await announcement(page, "enforced by 1 of 1 proxy")).toBe("polite")
    expect((await fetch(mesh.exposed("httpbin.foo", "/anything/keys"), { method: "PATCH" })).status).toBe(200)
    await page.keyboard.press("Escape")
    await page.locator("[role=grid]:focus").waitFor()
  } finally {
    await apply(readers)
  }
})

it("tries a change in shadow mode in three clicks from the overview, and drops calls that are allowed since", async () => {
  const allowing = (...methods: readonly string[]) => ({
    apiVersion: GROUP,
    kind: "AuthorizationPolicy",
    metadata: { name: "readers", namespace: "app" },
    spec: { selector: { matchLabels: { app: "web" } }, rules: [{ to: [{ operation: { methods } }] }] },
  })
  await apply(allowing("GET"))
  try {
    await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "-n", "app", "authorizationpolicy/readers")
    expect((await fetch(mesh.exposed("web.app", "/shadow/me"), { method: "PATCH" })).status).toBe(403)
    const page = await asOwner("/?ns=app")
    const item = page.getByRole("listitem").filter({ hasText: "PATCH /shadow/me" })
    // The list itself already shows the proved effect.
    await item.getByText("Would newly allow").waitFor()
    const clicks = await countClicks(page)
    await item.getByRole("button", { name: "Explain" }).click()
    const panel = page.getByRole("region", { name: "Denied call" })
    await panel.getByRole("list", { name: "Stages" }).waitFor()
    await panel.getByRole("button", { name: "Allow this…" }).click()
    await panel.getByText("newly allowed").waitFor()
    await panel.locator("button:enabled", { hasText: "Try in shadow mode" }).click()
    await panel
      .getByText("Applied app/readers-shadow")
      .or(panel.getByRole("link", { name: "app/readers-shadow" }))
      .first()
      .waitFor()
    expect(await clicks()).toBe(3)
    const stored = await kubectl(
      "get",
      "authorizationpolicy",
      "-n",
      "app",
      "readers-shadow",
      "-o",
      "jsonpath={.spec.enforcement}",
    )
    expect(stored).toBe("Shadow")
    expect((await fetch(mesh.exposed("web.app", "/shadow/me"), { method: "PATCH" })).status).toBe(403)
    // The item disappears once the policies allow the call.
    await page.keyboard.press("Escape")
    await item.waitFor()
    await apply(allowing("GET", "PATCH"))
    await item.waitFor({ state: "detached" })
  } finally {
    await kubectl("delete", "authorizationpolicy", "-n", "app", "readers", "readers-shadow", "--ignore-not-found")
  }
})

it("lists denied calls under Needs attention, and filters every page by namespace", async () => {
  await fetch(mesh.exposed("httpbin.foo", "/anything/attention"), { method: "DELETE" })
  const page = await asOwner("/")
  const attention = page.getByRole("region", { name: "Needs attention" })
  await attention.getByText("is denied by foo/httpbin").first().waitFor()
  await page.getByLabel("Namespace").selectOption("app")
  await attention.getByText("is denied by foo/httpbin").first().waitFor({ state: "detached" })
  await page.getByRole("link", { name: "Workloads", exact: true }).click()
  await page.getByRole("link", { name: "app/web-v1-1" }).waitFor()
  expect(page.url()).toContain("ns=app")
  expect(await page.getByText("foo/httpbin-1").count()).toBe(0)
})

it("finds workloads, policies, pages and decisions with Ctrl K, and answers questions", async () => {
  const reply = await fetch(mesh.exposed("httpbin.foo", "/anything/asked"), { method: "DELETE" })
  const id = reply.headers.get("x-merlon-decision") ?? ""
  const page = await asOwner("/")
  const ask = async (text: string): Promise<void> => {
    await page.keyboard.press("ControlOrMeta+k")
    await page.getByRole("combobox", { name: "Search or ask" }).fill(text)
    await page.getByRole("listbox").getByRole("option", { selected: true }).waitFor()
    await page.keyboard.press("Enter")
  }
  await ask("who can reach foo/httpbin")
  await page.getByText("No other access (proved).").waitFor()
  await ask("what can app/consumer reach")
  await page.getByRole("heading", { level: 1, name: "Access" }).waitFor()
  expect(decodeURIComponent(page.url())).toContain(`as=${CONSUMER}`)
  await ask(`why was ${id} denied`)
  await page.getByRole("region", { name: "Decision" }).getByText("/anything/asked").first().waitFor()
  await ask(id)
  await page.getByRole("region", { name: "Decision" }).getByText("/anything/asked").first().waitFor()
  await ask("httpbin-1")
  await page.getByRole("heading", { level: 1, name: "Workload foo/httpbin-1" }).waitFor()
  await ask("foo/readers")
  await page.getByRole("heading", { level: 1, name: "AuthorizationPolicy foo/readers" }).waitFor()
  await ask("certificates")
  await page.getByRole("heading", { level: 1, name: "Certificates" }).waitFor()
})

it("fills templates with existing labels, and offers the nearest labels if a policy selects nothing", async () => {
  const page = await asOwner("/policies/new?template=deny-path&namespace=foo")
  const text = page.getByRole("textbox", { name: "Policy as YAML" })
  await text.getByText("namespace: foo").waitFor()
  await text.getByText("app: httpbin").waitFor()
  await page.getByRole("textbox", { name: "Policy as YAML" }).click()
  await page.keyboard.press("ControlOrMeta+a")
  const spec = { selector: { matchLabels: { app: "httpbim" } }, action: "DENY", rules: [{}] }
  const metadata = { name: "typo", namespace: "foo" }
  await page.keyboard.insertText(JSON.stringify({ apiVersion: GROUP, kind: "AuthorizationPolicy", metadata, spec }))
  await page.getByRole("button", { name: "Use app=httpbin" }).waitFor()
  expect(await page.getByRole("button", { name: "Apply", exact: true }).count()).toBe(0)
  await page.getByRole("button", { name: "Use app=httpbin" }).click()
  await page
    .getByRole("textbox", { name: "Policy as YAML" })
    .getByText('"app": "httpbin"')
    .or(page.getByRole("textbox", { name: "Policy as YAML" }).getByText('httpbin"'))
    .first()
    .waitFor()
  await page.locator("button:enabled", { hasText: /^Apply$/ }).waitFor()
})

it("logs no error on any page", () => {
  expect(complaints.filter(text => !text.startsWith("Applying inline style"))).toEqual([])
})
