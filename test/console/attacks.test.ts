// SPDX-License-Identifier: Apache-2.0
// What others try against whoever looks: frames, foreign pages, other names for our address, and text that would be markup.

import { createServer, request as sendRequest } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { address, apply, asOwner, kubectl, newContext } from "./support/visit.js"

/** A page of somebody else on this machine: another port is another origin, to which our cookie is sent all the same. */
const evil = createServer((request, response) => {
  response.setHeader("content-type", "text/html")
  response.end(request.url === "/frame" ? `<iframe src="${address()}"></iframe>` : "<h1>evil</h1>")
})

beforeAll(async () => {
  await new Promise<void>(resolve => evil.listen(0, "127.0.0.1", resolve))
})
afterAll(() => void evil.close())

const evilAddress = (path: string): string => `http://127.0.0.1:${(evil.address() as AddressInfo).port}${path}`

it("is shown in nobody's frame", async () => {
  const page = await (await newContext()).newPage()
  await page.goto(evilAddress("/frame"))
  const [, frame] = page.frames()
  await frame?.waitForLoadState()
  expect(await frame?.locator("#root").count()).toBe(0)
})

it("takes nothing from another origin's page, though the browser sends our cookie", async () => {
  const page = await asOwner()
  await page.goto(evilAddress("/"))
  const target = JSON.stringify(address("").replace(/\/$/, ""))
  const attempts = await page.evaluate<readonly string[]>(`Promise.all([
    fetch(${target} + "/session", { method: "DELETE", credentials: "include", mode: "no-cors" }),
    fetch(${target} + "/api/api/v1/pods", { credentials: "include" }),
    fetch(${target} + "/api/api/v1/pods", { credentials: "include", headers: { "x-merlon-page": "guess" } }),
  ].map(one => one.then(answer => answer.type, () => "failed")))`)
  expect(attempts.slice(1)).toEqual(["failed", "failed"])
  await page.goto(address())
  await page.getByRole("button", { name: "Sign out" }).waitFor()
})

it("answers under no other name that leads to its address", async () => {
  const status = await new Promise(resolve => {
    sendRequest(address(), { headers: { host: "evil.example" } }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    }).end()
  })
  expect(status).toBe(403)
})

it("asks no other host for anything, and lets no script in that is not its own", async () => {
  const page = await asOwner()
  const hosts = new Set<string>()
  page.on("request", request => hosts.add(new URL(request.url()).host))
  const reply = await page.goto(address())
  const policy = reply?.headers()["content-security-policy"] ?? ""
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe-(?:inline|eval)/)
  await page.getByRole("heading", { name: "Problems" }).waitFor()
  expect([...hosts]).toEqual([new URL(address()).host])
  const ran = await page.evaluate<string>(`(() => {
    const script = document.createElement("script")
    try {
      script.textContent = "window.hacked = true"
    } catch {
      return "refused"
    }
    document.body.append(script)
    return "hacked" in window ? "ran" : "did not run"
  })()`)
  expect(ran).not.toBe("ran")
})

it("shows markup in names, labels and text as text", async () => {
  const evilText = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
  await kubectl("create", "namespace", "hostile")
  const policy = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "markup", namespace: "hostile", annotations: { note: evilText } },
    spec: {
      selector: { matchLabels: { app: "nobody" } },
      rules: [{ to: [{ operation: { paths: [`/${evilText}`] } }] }],
    },
  }
  await apply(policy)
  const page = await asOwner()
  await page.getByText("hostile/markup").first().waitFor()
  expect(await page.evaluate<boolean>(`"hacked" in window`)).toBe(false)
})
