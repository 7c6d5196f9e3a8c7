// SPDX-License-Identifier: Apache-2.0
// Attacks against a signed-in user: framing, cross-origin requests, DNS rebinding, and injection of markup.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { createServer, request as sendRequest } from "node:http"
import { type AddressInfo, connect } from "node:net"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, test } from "vitest"
import { address, apply, asOwner, kubectl, mesh, newContext } from "./support/visit.js"

/** A page of another program on this machine: its port makes it another origin, but the browser sends our cookie to it. */
const evil = createServer((request, response) => {
  response.setHeader("content-type", "text/html")
  response.end(request.url === "/frame" ? `<iframe src="${address()}"></iframe>` : "<h1>evil</h1>")
})

beforeAll(async () => {
  await new Promise<void>(resolve => evil.listen(0, "127.0.0.1", resolve))
})
afterAll(() => void evil.close())

const evilAddress = (path: string): string => `http://127.0.0.1:${(evil.address() as AddressInfo).port}${path}`

it("cannot be framed", async () => {
  const page = await (await newContext()).newPage()
  await page.goto(evilAddress("/frame"))
  const [, frame] = page.frames()
  await frame?.waitForLoadState()
  expect(await frame?.locator("#root").count()).toBe(0)
})

it("rejects requests from a page of another origin that carry the session cookie", async () => {
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

const POLICIES = "/api/apis/security.merlon.dev/v1alpha3/namespaces/app/peerauthentications"

describe("rejects cross-origin requests with the session cookie:", () => {
  let own: Readonly<Record<string, string>> = {}
  beforeAll(async () => {
    const page = await asOwner()
    const cookies = await page.context().cookies()
    own = {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
      "x-merlon-page": await page.evaluate<string>(`localStorage.getItem("merlon-page") ?? ""`),
    }
    await page.close()
  })

  function statusOf(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const sent = { method, headers: { "content-type": "application/json", ...headers } }
      sendRequest(address(path), sent, answer => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on("error", reject)
        .end(method === "POST" ? JSON.stringify({ metadata: { name: "forged" } }) : undefined)
    })
  }

  test.each<
    readonly [string, string, string, (own: Readonly<Record<string, string>>) => Record<string, string>, number]
  >([
    ["accepts the page's own query, or this table proves nothing", "GET", "/api/api/v1/pods", own => own, 200],
    ["a query without the page's half", "GET", "/api/api/v1/pods", ({ cookie = "" }) => ({ cookie }), 401],
    ["a query with a guessed half", "GET", "/api/api/v1/pods", own => ({ ...own, "x-merlon-page": "guess" }), 401],
    ["a query from another site", "GET", "/api/api/v1/pods", own => ({ ...own, "sec-fetch-site": "cross-site" }), 403],
    ["a change from another origin", "POST", POLICIES, own => ({ ...own, origin: evilAddress("") }), 403],
    ["a sign-in from another origin", "POST", "/session", own => ({ ...own, origin: evilAddress("") }), 403],
    ["a sign-out from another origin", "DELETE", "/session", own => ({ ...own, origin: evilAddress("") }), 403],
  ])("%s", async (_, method, path, headersOf, status) => {
    expect(await statusOf(method, path, headersOf(own))).toBe(status)
    // The session is still valid after the attempt.
    expect(await statusOf("GET", "/api/api/v1/pods", own)).toBe(200)
  })
})

it("rejects other host names that resolve to its address", async () => {
  const status = await new Promise(resolve => {
    sendRequest(address(), { headers: { host: "evil.example" } }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    }).end()
  })
  expect(status).toBe(403)
})

it("requests nothing from other hosts, and runs only its own scripts", async () => {
  const page = await asOwner()
  const hosts = new Set<string>()
  page.on("request", request => hosts.add(new URL(request.url()).host))
  const reply = await page.goto(address())
  const policy = reply?.headers()["content-security-policy"] ?? ""
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe-(?:inline|eval)/)
  await page.getByRole("heading", { level: 2, name: "Needs attention" }).waitFor()
  expect([...hosts]).toEqual([new URL(address()).host])
  const ran = await page.evaluate<string>(`(() => {
    const script = document.createElement("script")
    try {
      script.textContent = "window.hacked = true"
    } catch {
      return "rejected"
    }
    document.body.append(script)
    return "hacked" in window ? "ran" : "did not run"
  })()`)
  expect(ran).not.toBe("ran")
})

describe("text that contains markup", () => {
  const evilText = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
  const encoded = encodeURIComponent(evilText)
  const group = "security.merlon.dev/v1alpha3"
  const meta = (name: string) => ({ name, namespace: "hostile", annotations: { note: evilText } })
  const selector = { matchLabels: { app: "nobody" } }
  const documents = [
    {
      apiVersion: group,
      kind: "AuthorizationPolicy",
      metadata: meta("markup"),
      spec: {
        selector,
        rules: [
          {
            from: [{ source: { principals: [`cluster.local/${evilText}`], requestPrincipals: [evilText] } }],
            to: [{ operation: { paths: [`/${evilText}`], hosts: [evilText], methods: [evilText] } }],
            when: [{ key: "request.headers[x-evil]", values: [evilText] }],
          },
        ],
      },
    },
    {
      apiVersion: group,
      kind: "PolicyInvariant",
      metadata: meta("statement"),
      spec: { never: [{ name: evilText, to: [{ operation: { paths: [`/${evilText}`] } }] }] },
    },
    {
      apiVersion: group,
      kind: "RequestAuthentication",
      metadata: meta("issuer"),
      spec: { selector, jwtRules: [{ issuer: evilText, jwksUri: "http://127.0.0.1:9/keys" }] },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta("pod"),
      spec: { serviceAccountName: "default", containers: [{ name: "app", image: evilText }] },
      status: { phase: evilText },
    },
  ]
  let page: Page

  beforeAll(async () => {
    await kubectl("create", "namespace", "hostile")
    // Applied one by one: the cluster rejects some of them, and no page could show their text.
    for (const document of documents) await apply(document).catch(() => undefined)
    for (const path of [`/${encoded}`, `/%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E`]) {
      await fetch(mesh.exposed("web.app", path), { headers: { "user-agent": evilText } })
    }
    await rawRequest(`/"><img/src=x/onerror=window.hacked=1>`, `"><img/src=x>`)
    page = await asOwner()
  })

  /** Sends a request that HTTP clients would not send, with an unencoded path and Host. */
  function rawRequest(path: string, host: string): Promise<void> {
    const { hostname, port } = new URL(mesh.exposed("web.app", "/"))
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.on("error", reject).on("close", () => resolve())
      socket.resume()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    })
  }

  test.each([
    ["/", "attention"],
    [`/traffic?path=*${encoded}*&not-caller=${encoded}`, "Traffic"],
    ["/traffic", "Traffic"],
    ["/traffic?path=*img*", "Traffic"],
    ["/workloads", "Workloads"],
    [`/workloads?text=${encoded}`, "Workloads"],
    ["/workloads/hostile/pod", "Workload hostile/pod"],
    [`/workloads/hostile/${encoded}`, "Workload hostile/"],
    ["/workloads/app/web-v1-1", "Workload app/web-v1-1"],
    ["/policies", "Policies"],
    ["/policies/AuthorizationPolicy/hostile/markup", "AuthorizationPolicy hostile/markup"],
    ["/policies/PolicyInvariant/hostile/statement", "PolicyInvariant hostile/statement"],
    ["/policies/RequestAuthentication/hostile/issuer", "RequestAuthentication hostile/issuer"],
    [`/policies/${encoded}/a/b`, "Page not found"],
    [`/policies/new?template=strict&namespace=${encoded}`, "New policy"],
    ["/access", "Access"],
    [`/access?as=${encoded}`, "Access"],
    ["/mtls", "mTLS"],
    ["/map", "Map"],
    [`/map/${encoded}`, "Map of"],
    [`/map?since=${encoded}`, "Map"],
    [`/map?ns=${encoded}&text=${encoded}`, "Map"],
    [`/mtls?ns=${encoded}`, "mTLS"],
    [`/changes?since=${encoded}&until=${encoded}&text=${encoded}`, "Changes"],
    ["/changes?ns=hostile", "Changes"],
    ["/invariants", "Invariants"],
    ["/certificates", "Certificates"],
    [
      `/playground?workload=${encoded}&from=${encoded}&method=${encoded}&path=${encoded}&headers=${encoded}&claims=${encoded}`,
      "Playground",
    ],
    [`/playground?workload=app/web-v1-1&path=/${encoded}&headers=x-evil:${encoded}`, "Playground"],
    [`/${encoded}`, "Page not found"],
  ])("stays text on %s", async (place, heading) => {
    // Opens an empty page first, so that content of the previous page is not mistaken for that of this one.
    await page.goto(address("/#/nowhere"))
    await page.goto(address(`/#${place}`))
    await page.getByRole("heading", { level: 1, name: heading }).waitFor()
    await expect.poll(() => page.getByText("Loading…").count()).toBe(0)
    // Decisions arrive on a stream, which has no loading state.
    if (heading === "Traffic") await page.getByText("· live").waitFor()
    if (place.endsWith("*img*")) await page.getByRole("row").nth(1).waitFor()
    // The Content-Security-Policy would block the script. The page must be safe without it: the text creates no element.
    expect(await page.locator("img, body script, [onerror]").count()).toBe(0)
    expect(await page.evaluate<boolean>(`"hacked" in window`)).toBe(false)
  })

  it("is readable", async () => {
    await page.goto(address("/#/policies/AuthorizationPolicy/hostile/markup"))
    await page.getByRole("textbox", { name: "Policy as YAML" }).getByText("<img src=x").first().waitFor()
    for (const place of ["PolicyInvariant/hostile/statement", "RequestAuthentication/hostile/issuer"]) {
      await page.goto(address(`/#/policies/${place}`))
      await page.getByRole("heading", { level: 1, name: place.replace("/", " ") }).waitFor()
      await page.getByRole("textbox", { name: "Policy as YAML" }).getByText("<img src=x").first().waitFor()
    }
    await page.goto(address("/#/traffic?path=*onerror*"))
    await page.getByRole("row").filter({ hasText: "onerror" }).first().waitFor()
  })
})
