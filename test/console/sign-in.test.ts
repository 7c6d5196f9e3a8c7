// SPDX-License-Identifier: Apache-2.0
// Sign-in and sign-out, and the rejection of users without valid credentials.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { expect, it } from "vitest"
import {
  address,
  asOwner,
  asOwnerAlone,
  complaints,
  mesh,
  newContext,
  signInLink,
  tokenOf,
  withToken,
} from "./support/visit.js"

const STORED = "JSON.stringify({ ...localStorage, ...sessionStorage })"

it("signs in once with the link of `merlonctl dashboard`, and removes the code from the address", async () => {
  const { code, stdout } = await mesh.run("dashboard", "--no-open")
  expect(code).toBe(0)
  const link = stdout.trim()
  const page = await (await newContext()).newPage()
  await page.goto(link)
  await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
  expect(page.url()).toBe(address("/#/"))
  expect(await page.evaluate<string>(STORED)).not.toContain("Bearer")

  const thief = await (await newContext()).newPage()
  await thief.goto(link)
  await thief.getByText("this link was used or is too old").waitFor()
  expect(await thief.getByRole("navigation").count()).toBe(0)
})

it("signs in with a cluster token as its user, and shows no token", async () => {
  const token = await tokenOf("by-token", "view")
  const page = await withToken(token)
  await page.getByText("system:serviceaccount:default:by-token").waitFor()
  expect(await page.content()).not.toContain(token)
  expect(await page.evaluate<string>(STORED)).not.toContain(token)
  expect(page.url()).not.toContain(token)
})

it("rejects an invalid token with a message", async () => {
  for (const [token, words] of [
    ["two words", "this is no token"],
    ["abc.def.ghi", "the API does not accept this token"],
  ] as const) {
    const page = await withToken(token)
    await page.getByRole("alert").filter({ hasText: words }).waitFor()
  }
})

it("invalidates the cookie and the page's part of the session at sign-out", async () => {
  const page = await asOwnerAlone()
  const cookies = await page.context().cookies()
  const half = await page.evaluate<string>(`localStorage.getItem("merlon-page") ?? ""`)
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByLabel("Cluster token").waitFor()
  const answer = await fetch(address("/api/api/v1/pods"), {
    headers: {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
      "x-merlon-page": half,
    },
  })
  expect(answer.status).toBe(401)
})

it("requires a sign-in to open a copied address", async () => {
  const page = await asOwner("/policies")
  const stranger = await (await newContext()).newPage()
  await stranger.goto(page.url())
  await stranger.getByLabel("Cluster token").waitFor()
})

it("signs in immediately when a link is pasted into a signed-out tab", async () => {
  const page = await (await newContext()).newPage()
  await page.goto(address())
  await page.getByLabel("Cluster token").waitFor()
  // The page is already loaded: only the fragment of its address changes.
  await page.evaluate<void>(`window.location.href = ${JSON.stringify(signInLink())}`)
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  expect(page.url()).toBe(address("/#/"))
})

it("rejects a link with a guessed code", async () => {
  const page = await (await newContext()).newPage()
  await page.goto(signInLink().slice(0, -3))
  await page.getByRole("alert").waitFor()
})

it("logs no error on any page", () => {
  expect(complaints).toEqual([])
})
