// SPDX-License-Identifier: Apache-2.0
// The console below a path of another server: a reverse proxy strips the path, and everything works as without it.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { createServer, request as pass } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { address, complaints, mesh, newContext, tokenOf } from "./support/visit.js"

const BELOW = "/tools/mesh"
const asked: string[] = []

/** Acts like an ingress with a rewrite rule: it keeps Host and strips the path prefix. */
const proxy = createServer((request, response) => {
  const { method, headers, url = "/" } = request
  asked.push(url)
  if (!url.startsWith(`${BELOW}/`)) return void response.writeHead(404).end("not here")
  const onward = pass(address(url.slice(BELOW.length)), { method, headers }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on("error", () => response.destroy())
  response.on("close", () => onward.destroy())
  request.pipe(onward)
})

beforeAll(async () => {
  await new Promise<void>(resolve => proxy.listen(0, "127.0.0.1", resolve))
})

afterAll(() => {
  proxy.closeAllConnections()
  proxy.close()
})

it("signs in, follows decisions, writes and signs out below another path, and requests nothing outside it", async () => {
  const home = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${BELOW}/`
  const page = await (await newContext()).newPage()
  await page.goto(home)
  await page.getByLabel("Cluster token").fill(await tokenOf("below", "cluster-admin"))
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
  expect((await page.context().cookies()).map(({ path }) => path)).toEqual([BELOW])

  await page.getByRole("link", { name: "Traffic", exact: true }).click()
  await page.getByText("· live").waitFor()
  await fetch(mesh.exposed("web.app", "/seen-below"))
  await page.getByText("/seen-below").first().waitFor()

  // Lazily loaded scripts are found below the path too.
  await page.getByRole("link", { name: "Map", exact: true }).click()
  await page.locator(".react-flow__edge").first().waitFor({ state: "attached" })
  await page.goto(`${home}#/policies/new?template=strict&namespace=app`)
  await page.getByText("Effect of this change").waitFor()
  await page.locator("button:enabled", { hasText: "Apply" }).waitFor()

  await page.reload()
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByLabel("Cluster token").waitFor()
  expect(asked.filter(url => !url.startsWith(`${BELOW}/`))).toEqual([])
})

it("logs no error on any page", () => {
  expect(complaints).toEqual([])
})
