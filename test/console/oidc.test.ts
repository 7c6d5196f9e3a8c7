// SPDX-License-Identifier: Apache-2.0
// Signing in at an issuer, in a browser: away, back, and signed in, with nothing left behind that would sign in anybody.

import { afterAll, beforeAll, expect, it } from "vitest"
import { type ApiExchange, builtPage, type Console, startConsole } from "../../packages/console/dist/index.js"
import { Issuer } from "../../packages/console/src/testing/issuer.js"
import { connectionFrom, passingApi, withToken } from "../../packages/control/dist/index.js"
import { findings } from "./support/axe.js"
import { complaints, mesh, newContext, tokenOf } from "./support/visit.js"

const issuer = new Issuer("merlon-console")
let served: Console

/** As an API server that takes the issuer's tokens: looked at with each request, then with the rights of whom it means. */
function api(idToken: string, meant: string): ApiExchange {
  const connection = connectionFrom({ kubeconfig: `${mesh.data}/kubeconfig`, env: {} })
  const [good, nobody] = [meant, "nobody"].map(token => passingApi(withToken(connection, token), "test"))
  return {
    send: (request, signal) => {
      const behind = issuer.verified(idToken) === undefined ? nobody : good
      if (behind === undefined) throw new Error("there are two")
      return behind.send(request, signal)
    },
    close: async () => void (await Promise.all([good?.close(), nobody?.close()])),
  }
}

beforeAll(async () => {
  await issuer.start()
  const meant = await tokenOf("from-the-issuer", "view")
  const assets = builtPage()
  if (assets === undefined) throw new Error("the page was not built")
  served = await startConsole({
    ...{ host: "127.0.0.1", port: 0, hosts: [], version: "1", assets },
    names: {
      ...{ mesh: "merlon", domain: "merlon.dev", rootNamespace: "merlon-system" },
      ...{ securityGroup: "security.merlon.dev", networkingGroup: "networking.merlon.dev" },
      answersGroup: "answers.merlon.dev",
    },
    signIn: {
      withToken: token => api(token, meant),
      oidc: { issuer: issuer.url, clientId: "merlon-console", scopes: [] },
    },
    onError: error => complaints.push(String(error)),
  })
})

afterAll(async () => {
  await served.close()
  await issuer.stop()
})

it("signs in at the issuer with that person's rights, and leaves neither code nor token behind", async () => {
  const page = await (await newContext()).newPage()
  await page.goto(`http://127.0.0.1:${served.port}/`)
  await page.getByRole("link", { name: `Sign in at ${new URL(issuer.url).host}` }).waitFor()
  expect(await findings(page)).toEqual([])
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Overview of merlon" }).waitFor()
  await page.getByText("system:serviceaccount:default:from-the-issuer").waitFor()
  expect(page.url()).toBe(`http://127.0.0.1:${served.port}/#/`)
  const kept = await page.evaluate<string>("JSON.stringify([{ ...localStorage, ...sessionStorage }, document.cookie])")
  expect(kept).not.toMatch(/eyJ|code/)
  await page.reload()
  await page.getByRole("heading", { name: "Overview of merlon" }).waitFor()
  await page.getByRole("link", { name: "Policies", exact: true }).click()
  await page.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()
  expect(await page.getByRole("navigation", { name: "New policy" }).count()).toBe(0)
})

it("says why the issuer let nobody in", async () => {
  issuer.refuses = "access_denied"
  const page = await (await newContext()).newPage()
  await page.goto(`http://127.0.0.1:${served.port}/`)
  await page.getByRole("link", { name: "Sign in at" }).click()
  await page.getByRole("alert").filter({ hasText: "the issuer refused (access_denied)" }).waitFor()
  await page.getByRole("link", { name: "Sign in at" }).waitFor()
})

it("makes no page complain", () => {
  expect(complaints).toEqual([])
})
