// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest"
import type { Claim } from "../request/attributes.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import type { RequestEdits } from "./edits.js"
import { ISSUER, jwks, type Signer, signer } from "./testing/issuer.js"
import { program, type RequestParts, run } from "./testing/stage.js"

let issuer: Signer
let rule: JwtRule
let valid: string

beforeAll(async () => {
  issuer = await signer()
  rule = { issuer: ISSUER, jwks: jwks(issuer.jwk) }
  valid = await issuer.sign()
})

function edits(rules: readonly Partial<JwtRule>[], parts: RequestParts): RequestEdits {
  const result = run(program(...rules.map(changes => ({ ...rule, ...changes }))), parts)
  if (result.outcome === "reject") throw new Error(result.body)
  return result.edits
}

const bearing = (token: string, headers = {}): RequestParts => ({
  headers: { authorization: `Bearer ${token}`, ...headers },
})

describe("removing tokens", () => {
  it("removes the whole header, including its other lines", () => {
    const lines = { headers: { authorization: ["Basic x", `Bearer ${valid}`] } }
    expect(edits([{}], lines).removeHeaders).toEqual(["authorization"])
  })

  it("leaves everything if the rule forwards", () => {
    const forward = { forwardOriginalToken: true, fromHeaders: [{ name: "x" }], fromParams: ["p"], fromCookies: ["c"] }
    const parts = { target: `/?p=${valid}`, headers: { x: valid, cookie: `c=${valid}` } }
    expect(edits([forward], parts)).toEqual({ removeHeaders: [], setHeaders: [], target: undefined, cookie: undefined })
  })

  it("removes the cookie pair and keeps the others", () => {
    const cookies = { fromCookies: ["c"] }
    expect(edits([cookies], { headers: { cookie: [`a=1; c=${valid}`, "b=2"] } }).cookie).toBe("a=1; b=2")
    const alone = edits([cookies], { headers: { cookie: `c="${valid}"` } })
    expect(alone).toMatchObject({ cookie: undefined, removeHeaders: ["cookie"] })
    expect(edits([cookies], { headers: { cookie: "a=1" } })).toMatchObject({ cookie: undefined, removeHeaders: [] })
  })

  it("never accepts a repeated token that was not verified", () => {
    const forward = { forwardOriginalToken: true, fromParams: ["p"], fromCookies: ["c"] }
    const parts = { target: `/?p=${valid}&p=forged`, headers: { cookie: `c=${valid}; c=forged` } }
    expect(edits([forward], parts)).toMatchObject({ target: `/?p=${valid}`, cookie: `c=${valid}` })
    const strip = { ...forward, forwardOriginalToken: false }
    expect(edits([strip], parts)).toMatchObject({ target: "/", removeHeaders: ["cookie"] })
  })

  it("applies the first rule that accepts the token", () => {
    const forward = { forwardOriginalToken: true }
    expect(edits([{}, forward], bearing(valid)).removeHeaders).toEqual(["authorization"])
    expect(edits([forward, {}], bearing(valid)).removeHeaders).toEqual([])
    expect(edits([{ audiences: ["a"] }, forward], bearing(valid)).removeHeaders).toEqual([])
  })

  it("changes only the locations of tokens", () => {
    expect(edits([{}], { headers: { authorization: "Basic x" }, target: "/?a=1" }).removeHeaders).toEqual([])
  })
})

describe("output headers", () => {
  it("of every rule are scrubbed, with and without a token", () => {
    const rules = [
      { outputPayloadToHeader: "X-Payload" },
      { issuer: "z", outputClaimToHeaders: [{ header: "X-Sub", claim: "sub" }] },
    ]
    const forged = { "x-payload": "forged", "x-sub": "forged", "x-other": "kept" }
    expect(edits(rules, { headers: forged })).toMatchObject({ removeHeaders: ["x-payload", "x-sub"], setHeaders: [] })
    const [, payload = ""] = valid.split(".")
    expect(edits(rules, bearing(valid, forged))).toMatchObject({
      removeHeaders: ["x-payload", "x-sub", "authorization"],
      setHeaders: [["x-payload", payload]],
    })
  })

  it("may replace the token in its header", () => {
    const rules = [{ fromHeaders: [{ name: "x-jwt" }], outputPayloadToHeader: "x-jwt" }]
    const [, payload = ""] = valid.split(".")
    const result = edits(rules, { headers: { "x-jwt": valid } })
    expect(result).toMatchObject({ removeHeaders: ["x-jwt"], setHeaders: [["x-jwt", payload]] })
  })

  it("never change headers that frame or route the message", () => {
    const outputClaimToHeaders = [
      { header: "Content-Length", claim: "sub" },
      { header: "x-sub", claim: "sub" },
      { header: "x-sub", claim: "iss" },
    ]
    const rules = [{ outputPayloadToHeader: "Transfer-Encoding", outputClaimToHeaders }]
    const framing = { "content-length": "5", "transfer-encoding": "chunked" }
    expect(edits(rules, bearing(valid, framing))).toMatchObject({
      removeHeaders: ["authorization"],
      setHeaders: [["x-sub", "alice"]],
    })
  })

  it("come from the first accepting rule, one line each", async () => {
    const bob = await issuer.sign({ sub: "bob" })
    const output = { outputClaimToHeaders: [{ header: "x-sub", claim: "sub" }] }
    const rules = [
      { fromHeaders: [{ name: "y" }], ...output },
      { fromHeaders: [{ name: "x" }], ...output },
    ]
    expect(edits(rules, { headers: { x: valid, y: bob } }).setHeaders).toEqual([["x-sub", "bob"]])
  })

  const claims: Record<string, Claim> = {
    text: "plain text",
    empty: "",
    nothing: null,
    yes: true,
    no: false,
    zero: 0,
    whole: 42,
    large: 2 ** 63,
    huge: 1e22,
    beyond: 2 ** 64,
    negative: -5,
    half: 1.5,
    list: ["a", 1],
    object: { a: "ü" },
    none: [],
    nested: { deep: { er: "found" } },
    "dotted.name": "unreachable",
    accents: "Zoë €",
    injected: "a\r\nx-admin: true",
    nul: "a\u0000b",
    tab: "a\tb",
    surrounded: " \t admin\t ",
    blank: " \t",
  }

  it.each([
    ["text", "plain text"],
    ["empty", undefined],
    ["nothing", undefined],
    ["absent", undefined],
    ["yes", "true"],
    ["no", "false"],
    ["zero", "0"],
    ["whole", "42"],
    ["large", "9223372036854775808"],
    ["huge", "10000000000000000000000.000000"],
    ["beyond", "18446744073709551616.000000"],
    ["negative", "-5.000000"],
    ["half", "1.500000"],
    ["list", Buffer.from('["a",1]').toString("base64")],
    ["object", Buffer.from('{"a":"ü"}').toString("base64")],
    ["none", "W10="],
    ["nested.deep.er", "found"],
    ["nested.deep.er.more", undefined],
    ["list.0", undefined],
    ["dotted.name", undefined],
    ["constructor", undefined],
    ["accents", Buffer.from("Zoë €").toString("latin1")],
    ["injected", undefined],
    ["nul", undefined],
    ["tab", "a\tb"],
    ["surrounded", "admin"],
    ["blank", undefined],
  ])("hold the claim `%s` as %j", async (claim, value) => {
    const token = await issuer.sign(claims)
    const { setHeaders } = edits([{ outputClaimToHeaders: [{ header: "x-claim", claim }] }], bearing(token))
    expect(setHeaders).toEqual(value === undefined ? [] : [["x-claim", value]])
  })
})

describe("what authorization sees", () => {
  const published = async (claims: Record<string, unknown>, changes: Partial<JwtRule> = {}) => {
    const result = run(program({ ...rule, ...changes }), bearing(await issuer.sign(claims)))
    if (result.outcome === "reject" || result.token === undefined) throw new Error("no token")
    return result.token
  }

  it("contains space-delimited claims as lists", async () => {
    const claims = { scope: "a  b ", permission: "x", roles: "r s", other: "o p", blank: " ", nested: { scope: "a b" } }
    const token = await published(claims, { spaceDelimitedClaims: ["roles", "blank", "nested"] })
    expect({ ...token.claims }).toMatchObject({
      scope: ["a", "b"],
      permission: ["x"],
      roles: ["r", "s"],
      other: "o p",
      blank: " ",
    })
    expect(JSON.stringify(token.claims.nested)).toBe('{"scope":"a b"}')
  })

  it("has a principal only if there are issuer and subject", async () => {
    expect(await published({ sub: undefined })).toMatchObject({ issuer: ISSUER, subject: undefined })
    expect(await published({})).toMatchObject({ issuer: ISSUER, subject: "alice" })
  })

  it("is frozen and without prototypes", async () => {
    const bytes = Buffer.from(`{"iss":"${ISSUER}","__proto__":{"admin":"yes"},"scope":"a b"}`)
    const result = run(program(rule), bearing(await issuer.signBytes(bytes)))
    const token = result.outcome === "pass" ? result.token : undefined
    expect(token?.claims.admin).toBeUndefined()
    expect(Object.keys(token?.claims ?? {})).toEqual(["iss", "__proto__", "scope"])
    expect(Object.getPrototypeOf(token?.claims)).toBeNull()
    for (const value of [token, token?.claims, token?.claims.scope]) expect(Object.isFrozen(value)).toBe(true)
  })
})
