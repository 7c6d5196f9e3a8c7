// SPDX-License-Identifier: Apache-2.0
// Sign-in at an OIDC issuer in a browser: the redirects, the rights that the cluster grants to the user, and no secret left
// in the browser. Uses a separate control plane with its own cluster, which accepts the issuer's tokens, and with another
// trust domain than the other tests here.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { loadCredentials } from "../../packages/cluster/src/auth/pki.js"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { Issuer } from "../../packages/console/src/testing/issuer.js"
import { ClusterApi } from "../e2e/control/support/cluster-api.js"
import { Program } from "../e2e/control/support/program.js"
import { findings } from "./support/axe.js"
import { complaints, newContext } from "./support/visit.js"

const CLIENT = "merlon-console"
const TRUST_DOMAIN = "corp.example"
const folder = mkdtempSync(join(tmpdir(), "console-oidc-"))
let issuer: Issuer
let control: Program
let api: ClusterApi
let home = ""

beforeAll(async () => {
  const {
    caCertificate,
    serverCertificate: cert,
    serverKey: key,
  } = await loadCredentials(join(folder, "issuer"), [], Date.now())
  const ca = join(folder, "issuer-ca.pem")
  writeFileSync(ca, caCertificate)
  issuer = new Issuer(CLIENT, undefined, { cert, key })
  await issuer.start()
  const [apiPort, meshPort, healthPort, webhookPort, consolePort] = await Promise.all(
    Array.from({ length: 5 }, () => freePort()),
  )
  home = `http://127.0.0.1:${consolePort}/`
  control = new Program([
    ...["serve", "--embedded", "--data", join(folder, "data"), "--trust-domain", TRUST_DOMAIN],
    ...["--api-port", `${apiPort}`, "--mesh-port", `${meshPort}`, "--health-port", `${healthPort}`],
    ...["--webhook-port", `${webhookPort}`, "--console-port", `${consolePort}`],
    ...["--oidc-issuer-url", issuer.url, "--oidc-client-id", CLIENT, "--oidc-ca-file", ca],
    ...["--oidc-groups-claim", "groups", "--oidc-groups-prefix", "oidc:"],
    ...["--console-oidc-issuer", issuer.url, "--console-oidc-client-id", CLIENT, "--console-oidc-ca-file", ca],
  ])
  await control.printed(/^proxies\s+:(\d+)/m)
  api = new ClusterApi(join(folder, "data", "cluster", "kubeconfig"), folder)
  const did = async (words: string): Promise<void> => {
    const { code, err } = await api.kubectl(words)
    if (code !== 0) throw new Error(`kubectl ${words}: ${err}`)
  }
  await did(`create clusterrolebinding jane --clusterrole=view --user=${issuer.url}#jane`)
  await did("create clusterrolebinding writers --clusterrole=cluster-admin --group=oidc:writers")
  await did("create namespace shop")
  await api.put({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "till", namespace: "shop", labels: { app: "till" } },
    spec: { containers: [{ name: "app", image: "app", ports: [{ containerPort: 8080 }] }] },
  })
})

afterAll(async () => {
  await api.client.close()
  await control.kill()
  await issuer.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Opens the sign-in page in a browser that accepts the issuer's certificate. */
async function atHome(): Promise<Page> {
  const page = await (await newContext({ ignoreHTTPSErrors: true })).newPage()
  await page.goto(home)
  return page
}

async function signedIn(): Promise<Page> {
  const page = await atHome()
  await page.getByRole("link", { name: "Sign in at" }).click()
  await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
  return page
}

it("signs in at the issuer with the user's rights, and leaves neither code nor token behind", async () => {
  issuer.claims = {}
  const page = await atHome()
  await page.getByRole("link", { name: `Sign in at ${new URL(issuer.url).host}` }).waitFor()
  expect(await findings(page)).toEqual([])
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
  await page.getByText(`${issuer.url}#jane`).waitFor()
  expect(page.url()).toBe(`${home}#/`)
  const kept = await page.evaluate<string>("JSON.stringify([{ ...localStorage, ...sessionStorage }, document.cookie])")
  expect(kept).not.toMatch(/eyJ|code/)
  await page.reload()
  await page.getByRole("heading", { level: 1, name: /attention/ }).waitFor()
  await page.getByRole("link", { name: "Policies", exact: true }).click()
  await page.getByRole("heading", { name: "AuthorizationPolicy" }).waitFor()
  const offers = page.getByRole("navigation", { name: "New policy" })
  await offers.getByText("No namespace found where you can create policies.").waitFor()
  expect(await offers.getByRole("link").count()).toBe(0)
})

it("grants the rights of a group of the issuer", async () => {
  issuer.claims = { sub: "joan", groups: ["writers"] }
  const page = await signedIn()
  await page.goto(`${home}#/policies/new?template=strict&namespace=shop`)
  await page.locator("button:enabled", { hasText: "Apply" }).click()
  await page.getByRole("heading", { name: "PeerAuthentication shop/my-policy" }).waitFor()
  expect((await api.kubectl("get peerauthentication -n shop -o name")).out).toContain("my-policy")
})

it("shows nothing to a user without rights", async () => {
  issuer.claims = { sub: "nobody" }
  const page = await signedIn()
  await page.getByRole("link", { name: "Policies", exact: true }).click()
  await page
    .getByRole("alert")
    .filter({ hasText: `"${issuer.url}#nobody" cannot list` })
    .first()
    .waitFor()
})

it("rejects a token that the cluster rejects", async () => {
  issuer.claims = { iat: 0, nbf: Math.floor(Date.now() / 1_000) + 3_000 }
  const page = await atHome()
  await page.getByRole("link", { name: "Sign in at" }).click()
  await page.getByRole("alert").waitFor()
  expect(await page.getByRole("navigation").count()).toBe(0)
})

it("shows why the issuer rejected the sign-in", async () => {
  issuer.rejects = "access_denied"
  const page = await atHome()
  await page.getByRole("link", { name: "Sign in at" }).click()
  await page.getByRole("alert").filter({ hasText: "the issuer rejected the sign-in (access_denied)" }).waitFor()
  await page.getByRole("link", { name: "Sign in at" }).waitFor()
  issuer.rejects = undefined
})

it("shows identities with the trust domain of the mesh", async () => {
  issuer.claims = { sub: "joan", groups: ["writers"] }
  const identity = `${TRUST_DOMAIN}/ns/shop/sa/default`
  const page = await signedIn()
  await page.goto(`${home}#/access?proved`)
  await expect.poll(() => page.getByLabel("Identity", { exact: true }).inputValue()).toBe(identity)
  await page
    .getByRole("button", { name: "calls of shop/default to shop/till" })
    .getByText(/^(?:all|some)$/)
    .waitFor()
  await page.goto(`${home}#/workloads/shop/till`)
  await page.getByText(identity, { exact: true }).waitFor()
  await page.goto(`${home}#/policies/new?template=allow-one&namespace=shop`)
  await page.getByText(`- ${TRUST_DOMAIN}/ns/default/sa/caller`).waitFor()
  await page.goto(`${home}#/try`)
  await expect.poll(() => page.getByLabel("Caller (empty").getAttribute("placeholder")).toContain(`${TRUST_DOMAIN}/`)
})

it("logs no error on any page", () => {
  expect(complaints).toEqual([])
})
