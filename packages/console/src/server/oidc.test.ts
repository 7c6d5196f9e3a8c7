// SPDX-License-Identifier: Apache-2.0
import { Readable } from "node:stream"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { Issuer } from "../testing/issuer.js"
import { assetsOf } from "./assets.js"
import { type Console, startConsole } from "./console.js"
import type { ApiExchange } from "./exchange.js"
import { OidcIssuer } from "./oidc-issuer.js"
import { OidcSignIn, type Start } from "./oidc-sign-in.js"
import { SealedCookie } from "./sealed-cookie.js"
import { enter } from "./sign-in.js"

const CLIENT = "merlon-console"
const SECRET = "s3cret"
let issuer: Issuer
let console: Console
let failures: unknown[] = []
/** Tokens that the API received. */
let shown: string[] = []

/** An API that accepts the issuer's tokens and verifies their signatures. */
function api(token: string): ApiExchange {
  return {
    send: async () => {
      shown.push(token)
      const username = issuer.verified(token)
      const answer = username === undefined ? {} : { status: { userInfo: { username, groups: ["dev"] } } }
      return {
        ...{ status: username === undefined ? 401 : 201, contentType: "application/json", warnings: [] },
        body: Readable.from([Buffer.from(JSON.stringify(answer))]),
      }
    },
    close: () => Promise.resolve(),
  }
}

beforeEach(async () => {
  failures = []
  shown = []
  issuer = new Issuer(CLIENT, SECRET)
  await issuer.start()
  const assets = assetsOf([["index.html", Buffer.from("page")]])
  if (assets === undefined) throw new Error("there is a page")
  console = await startConsole({
    ...{ host: "127.0.0.1", port: 0, hosts: ["mesh.example.com"], version: "1", assets },
    names: {
      ...{ mesh: "merlon", domain: "merlon.dev", rootNamespace: "merlon-system" },
      ...{ securityGroup: "security.merlon.dev", networkingGroup: "networking.merlon.dev" },
      answersGroup: "answers.merlon.dev",
    },
    signIn: {
      withToken: api,
      oidc: { issuer: issuer.url, clientId: CLIENT, clientSecret: SECRET, scopes: ["groups"] },
    },
    onError: error => failures.push(error),
  })
})

afterEach(async () => {
  await console.close()
  await issuer.stop()
  expect(failures).toEqual([])
})

const home = (): string => `http://127.0.0.1:${console.port}/`
const go = (url: string, cookie = ""): Promise<Response> => fetch(url, { redirect: "manual", headers: { cookie } })
const PAGE = "p".repeat(64)
const startAddress = (at = home(), page = PAGE): string =>
  `${home()}oidc-start?at=${encodeURIComponent(at)}&page=${page}`
const locationOf = (answer: Response): string => answer.headers.get("location") ?? ""

interface Begun {
  readonly cookie: string
  /** The address to which the issuer redirects the browser. */
  readonly back: string
}

async function begin(): Promise<Begun> {
  const away = await go(startAddress())
  expect(away.status).toBe(302)
  const cookie = away.headers.get("set-cookie")?.split(";")[0] ?? ""
  return { cookie, back: locationOf(await go(locationOf(away))) }
}

/** Like a browser, keeps the cookie unless a new one is set. */
async function comeBack({ back, cookie }: Begun, kept = cookie): Promise<string> {
  const returned = await go(back, kept)
  expect(locationOf(returned)).toBe("./#/sign-in?oidc")
  return returned.headers.get("set-cookie")?.split(";")[0] ?? kept
}

async function finish(
  cookie: string,
  page = PAGE,
): Promise<{ readonly status: number; readonly text: string; readonly set: string }> {
  const answer = await fetch(`${home()}session`, {
    method: "POST",
    headers: { cookie },
    body: JSON.stringify({ oidc: page }),
  })
  return { status: answer.status, text: await answer.text(), set: answer.headers.get("set-cookie") ?? "" }
}

describe("signing in at an issuer", () => {
  it("ends in a session with the permissions of the ID token's user", async () => {
    const { status, text, set } = await finish(await comeBack(await begin()))
    expect(status).toBe(200)
    expect(JSON.parse(text).user).toMatchObject({ name: "jane", groups: ["dev"] })
    expect(set).toMatch(/^merlon-console=[\w-]{43}; HttpOnly; SameSite=Strict$/)
    // No session outlasts its credentials.
    expect(Date.parse(JSON.parse(text).user.ends)).toBeLessThanOrEqual(Date.now() + 600_000)
    for (const token of shown) expect(text).not.toContain(token)
  })

  it("sends a new state, nonce and challenge each time, and no secret", async () => {
    const [one, other] = [locationOf(await go(startAddress())), locationOf(await go(startAddress()))].map(
      text => new URL(text).searchParams,
    )
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(one?.get(name)).toMatch(/^[\w-]{43}$/)
      expect(one?.get(name)).not.toBe(other?.get(name))
    }
    expect(one?.get("scope")).toBe("openid groups")
    expect(one?.get("redirect_uri")).toBe(`${home()}oidc-callback`)
    expect(one?.toString()).not.toContain(SECRET)
  })

  it("works once", async () => {
    const cookie = await comeBack(await begin())
    const answers = await Promise.all([finish(cookie), finish(cookie)])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
    expect((await finish(cookie)).status).toBe(401)
    expect(issuer.asked.filter(line => line.startsWith("POST /token"))).toHaveLength(1)
  })

  it("is not displaced by sign-ins of other clients", async () => {
    const options = { issuer: issuer.url, clientId: CLIENT, clientSecret: SECRET, scopes: [] }
    const oidc = new OidcSignIn(new OidcIssuer(options), ({ token }) => enter(api(token)))
    const begun = (): Promise<Start> => oidc.start(`${home()}oidc-callback`, home(), PAGE)
    const own = await begun()
    for (let turn = 0; turn < 1_001; turn++) {
      const { cookie, location } = await begun()
      oidc.back(cookie, new URLSearchParams({ state: new URL(location).searchParams.get("state") ?? "", code: "x" }))
    }
    const query = new URL(locationOf(await go(own.location))).searchParams
    expect(await oidc.take(oidc.back(own.cookie, query) ?? "", PAGE)).toMatchObject({ user: "jane" })
  })

  it("queries a slow issuer once for all waiting sign-ins", async () => {
    await Promise.all(Array.from({ length: 8 }, () => go(startAddress())))
    expect(issuer.asked.filter(line => line.includes("/.well-known/"))).toHaveLength(1)
  })

  it("is reported to the page that the browser returns to, with a cookie that no script reads", async () => {
    const away = await go(startAddress())
    expect(away.headers.get("set-cookie")).toMatch(
      /^merlon-console-way-in=[\w-]+; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
    // The holder of the cookie cannot read what binds the three steps.
    const result = Buffer.from(away.headers.get("set-cookie")?.split(/[=;]/)[1] ?? "", "base64url").toString("latin1")
    expect(result).not.toContain(new URL(locationOf(away)).searchParams.get("state"))
    const below = await go(startAddress("https://mesh.example.com/tools/mesh/"))
    const redirect = new URL(locationOf(below)).searchParams.get("redirect_uri")
    expect(redirect).toBe("https://mesh.example.com/tools/mesh/oidc-callback")
  })
})

describe("rejects", () => {
  it("another port of the host, which is sent the cookie and does not have the page's secret", async () => {
    const cookie = await comeBack(await begin())
    for (const page of ["", "q".repeat(64)]) expect((await finish(cookie, page)).status).toBe(401)
    expect((await finish(cookie)).status).toBe(200)
  })

  it("a page without a secret", async () => {
    expect((await go(startAddress(home(), ""))).status).toBe(400)
  })

  it("a client with the return address but without the cookie", async () => {
    const own = await begin()
    const thief = await comeBack(own, "")
    expect((await finish(thief)).status).toBe(401)
    const another = await begin()
    expect((await finish(await comeBack(own, another.cookie))).status).toBe(401)
    // Nor did the attacker use it up for its owner.
    expect((await finish(await comeBack(own))).status).toBe(200)
  })

  it("a client with a changed cookie, or with one of another console", async () => {
    const cookie = await comeBack(await begin())
    const bits = Buffer.from(cookie.split("=")[1] ?? "", "base64url")
    for (const at of [0, 31, 32, 47, 48, bits.length - 1]) {
      const changed = Buffer.from(bits)
      changed[at] = (bits[at] ?? 0) ^ 1
      expect((await finish(`merlon-console-way-in=${changed.toString("base64url")}`)).status).toBe(401)
    }
    const foreign = new SealedCookie().seal({ ends: Date.now() + 60_000, outcome: { status: 401, why: "mine" } })
    const answer = await finish(`merlon-console-way-in=${foreign}`)
    expect(answer).toMatchObject({ status: 401, text: expect.stringContaining("in another browser") })
    expect((await finish(cookie)).status).toBe(200)
  })

  it("a code that is too long for a cookie, and reports that", async () => {
    const own = await begin()
    const long = new URL(own.back)
    long.searchParams.set("code", "c".repeat(4_000))
    const answer = await finish(await comeBack({ ...own, back: long.href }))
    expect(answer).toMatchObject({ status: 401, text: expect.stringContaining("too long") })
  })

  it("another user's code that an attacker sends to a user", async () => {
    const [victim, attacker] = [await begin(), await begin()]
    const cookie = await comeBack(attacker, victim.cookie)
    expect(await finish(cookie)).toMatchObject({ status: 401, text: expect.stringContaining("another sign-in") })
  })

  it("a code that replaces the user's own", async () => {
    const [victim, attacker] = [await begin(), await begin()]
    const mixed = new URL(victim.back)
    mixed.searchParams.set("code", new URL(attacker.back).searchParams.get("code") ?? "")
    const cookie = await comeBack({ ...victim, back: mixed.href })
    expect(await finish(cookie)).toMatchObject({ status: 401, text: expect.stringContaining("invalid_grant") })
  })

  test.each([
    ["of another issuer", { iss: "https://other.example" }, "another issuer"],
    ["for another client", { aud: "other" }, "another client"],
    ["given to another client", { aud: [CLIENT, "other"], azp: "other" }, "another client"],
    ["of another sign-in", { nonce: "other" }, "another sign-in"],
    ["that has ended", { exp: 1 }, "has ended"],
    ["without an end", { exp: undefined }, "has ended"],
  ])("an ID token %s", async (_, claims, words) => {
    issuer.claims = claims
    const cookie = await comeBack(await begin())
    expect(await finish(cookie)).toMatchObject({ status: 401, text: expect.stringContaining(words) })
    expect(shown).toEqual([])
  })

  it("a user whom the issuer rejects, and reports that", async () => {
    issuer.rejects = "access_denied"
    const cookie = await comeBack(await begin())
    expect(await finish(cookie)).toMatchObject({ status: 401, text: expect.stringContaining("access_denied") })
  })

  test.each([
    ["another site", "https://evil.example/"],
    ["another port of this machine", "http://127.0.0.1:1/"],
    ["no address", "x"],
    ["a script", "javascript:alert(1)"],
  ])("a return to %s", async (_, at) => {
    expect((await go(startAddress(at))).status).toBe(400)
  })

  test.each([
    ["calls itself otherwise", { issuer: "https://other.example" }],
    ["would be told the code in the clear", { token_endpoint: "http://issuer.example/token" }],
    ["sends people away in the clear", { authorization_endpoint: "http://issuer.example/authorize" }],
    ["names no address", { token_endpoint: 7 }],
  ])("every user if the issuer %s", async (_, document) => {
    issuer.document = document
    const away = await go(startAddress())
    expect(locationOf(away)).toBe("./#/sign-in?oidc")
    expect((await finish(away.headers.get("set-cookie")?.split(";")[0] ?? "")).status).toBe(502)
  })
})
