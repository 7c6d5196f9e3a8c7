// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { compileTokenRules } from "./program.js"
import { jwks, makeSigner, NOW, type Signer, signer } from "./testing/issuer.js"
import { policy, program, run, verdict } from "./testing/stage.js"

const ONE = "https://one.example.com"
const TWO = "https://two.example.com"

let keyOne: Signer
let keyTwo: Signer
let one: JwtRule
let two: JwtRule
let tokenOne: string
let tokenTwo: string
let expiredOne: string
let forgedTwo: string
let strange: string

beforeAll(async () => {
  keyOne = await signer("ES256", "one")
  keyTwo = await signer("ES256", "two")
  one = { issuer: ONE, jwks: jwks(keyOne.jwk) }
  two = { issuer: TWO, jwks: jwks(keyTwo.jwk) }
  tokenOne = await keyOne.sign({ iss: ONE, sub: "one" })
  tokenTwo = await keyTwo.sign({ iss: TWO, sub: "two" })
  expiredOne = await keyOne.sign({ iss: ONE, exp: NOW - 999 })
  forgedTwo = await (await makeSigner("ES256", "two")).sign({ iss: TWO })
  strange = await keyOne.sign({ iss: "https://three.example.com" })
})

const at = (name: string): Partial<JwtRule> => ({ fromHeaders: [{ name }] })
const bearing = (...tokens: string[]) => ({ headers: { authorization: tokens.map(token => `Bearer ${token}`) } })

describe("two rules at one location", () => {
  it("accept a token of either issuer", () => {
    expect(verdict(run(program(one, two), bearing(tokenOne)))).toBe("pass as one")
    expect(verdict(run(program(one, two), bearing(tokenTwo)))).toBe("pass as two")
    expect(run(program(one, two), bearing(tokenTwo)).by?.rule).toBe(1)
  })

  it("reject a token of another issuer", () => {
    expect(verdict(run(program(one, two), bearing(strange)))).toBe("JwtUnknownIssuer")
  })

  it("give the reason of the rule with the token's issuer", () => {
    expect(verdict(run(program(one, two), bearing(expiredOne)))).toBe("JwtExpired")
    expect(verdict(run(program(two, one), bearing(expiredOne)))).toBe("JwtExpired")
    expect(verdict(run(program(one, two), bearing(forgedTwo)))).toBe("JwtVerificationFail")
    expect(run(program(one, two), bearing(forgedTwo)).by?.rule).toBe(1)
  })

  it("of one issuer accept every token that either accepts", async () => {
    const strict: JwtRule = { ...one, audiences: ["bar"] }
    expect(verdict(run(program(strict, one), bearing(tokenOne)))).toBe("pass as one")
    const other: JwtRule = { ...one, audiences: ["foo"] }
    const foo = await keyOne.sign({ iss: ONE, aud: "foo" })
    expect(verdict(run(program(strict, other), bearing(foo)))).toBe("pass as alice")
    expect(verdict(run(program(strict, other), bearing(tokenOne)))).toBe("JwtAudienceNotAllowed")
  })

  it("accept two tokens that satisfy a different rule each", () => {
    expect(verdict(run(program(one, two), bearing(tokenOne, tokenTwo)))).toBe("pass as one")
    expect(verdict(run(program(one, two), bearing(tokenTwo, tokenOne)))).toBe("pass as one")
  })

  it("of one issuer accept two tokens that satisfy a different rule each", async () => {
    const foo = await keyOne.sign({ iss: ONE, sub: "foo", aud: "foo" })
    const bar = await keyOne.sign({ iss: ONE, sub: "bar", aud: "bar" })
    const rules = program({ ...one, audiences: ["foo"] }, { ...one, audiences: ["bar"] })
    expect(verdict(run(rules, bearing(foo, bar)))).toBe("pass as foo")
    expect(verdict(run(rules, bearing(bar, foo)))).toBe("pass as foo")
  })

  it("reject two tokens if one satisfies no rule, with its reason", () => {
    expect(verdict(run(program(one, two), bearing(tokenOne, forgedTwo)))).toBe("JwtVerificationFail")
    expect(verdict(run(program(one, two), bearing(expiredOne, tokenTwo)))).toBe("JwtExpired")
    expect(verdict(run(program(one, two), bearing(tokenOne, tokenTwo, strange)))).toBe("JwtUnknownIssuer")
  })
})

describe("one rule with several tokens", () => {
  it("requires all of them to verify", () => {
    expect(verdict(run(program(one), bearing(tokenOne, tokenOne)))).toBe("pass as one")
    expect(verdict(run(program(one), bearing(tokenOne, expiredOne)))).toBe("JwtExpired")
    expect(verdict(run(program(one), bearing(expiredOne, tokenOne)))).toBe("JwtExpired")
    const target = "/?access_token=bad"
    expect(verdict(run(program(one), { ...bearing(tokenOne), target }))).toBe("JwtBadFormat")
    expect(verdict(run(program(one), { ...bearing(tokenOne), target: "/?access_token=" }))).toBe("JwtBadFormat")
  })

  it("reports the error of the last one collected", () => {
    expect(verdict(run(program(one), bearing(expiredOne, strange)))).toBe("JwtUnknownIssuer")
    expect(verdict(run(program(one), bearing(strange, expiredOne)))).toBe("JwtExpired")
  })

  it("accepts two parameters and takes the principal from the first collected", async () => {
    const bob = await keyOne.sign({ iss: ONE, sub: "bob" })
    const compiled = program({ ...one, fromParams: ["b", "a"] })
    const result = run(compiled, { target: `/?b=${tokenOne}&a=${bob}&c=1` })
    expect(verdict(result)).toBe("pass as bob")
    expect(result).toMatchObject({ edits: { target: "/?c=1" } })
  })

  it("prefers the header to the parameter to the cookie", async () => {
    const compiled = program({ ...one, fromHeaders: [{ name: "x" }], fromParams: ["p"], fromCookies: ["c"] })
    const [header, param, cookie] = await Promise.all(["h", "p", "c"].map(sub => keyOne.sign({ iss: ONE, sub })))
    const target = `/?p=${param}`
    expect(verdict(run(compiled, { target, headers: { x: `${header}`, cookie: `c=${cookie}` } }))).toBe("pass as h")
    expect(verdict(run(compiled, { target, headers: { cookie: `c=${cookie}` } }))).toBe("pass as p")
    expect(verdict(run(compiled, { headers: { cookie: `c=${cookie}` } }))).toBe("pass as c")
  })
})

describe("rules at different locations", () => {
  const pair = () => program({ ...one, ...at("x") }, { ...two, ...at("y") })

  it("write one header from the token of the first rule by issuer, wherever its token is", () => {
    const output = { outputClaimToHeaders: [{ header: "x-sub", claim: "sub" }] }
    const rules = program({ ...one, ...output, fromParams: ["p"] }, { ...two, ...output, ...at("x") })
    const result = run(rules, { target: `/?p=${tokenOne}`, headers: { x: tokenTwo } })
    expect(result).toMatchObject({ outcome: "pass", edits: { setHeaders: [["x-sub", "one"]] } })
  })

  it("accept two valid tokens and take the principal from the first rule by issuer", () => {
    expect(verdict(run(pair(), { headers: { x: tokenOne, y: tokenTwo } }))).toBe("pass as one")
    expect(verdict(run(pair(), { headers: { y: tokenTwo } }))).toBe("pass as two")
  })

  it("reject a valid token next to an invalid one, with the invalid one's reason", () => {
    const result = run(pair(), { headers: { x: tokenOne, y: forgedTwo } })
    expect(verdict(result)).toBe("JwtVerificationFail")
    expect(result.by?.rule).toBe(1)
    expect(verdict(run(pair(), { headers: { x: expiredOne, y: tokenTwo } }))).toBe("JwtExpired")
    expect(verdict(run(pair(), { headers: { x: tokenOne, y: tokenOne } }))).toBe("JwtUnknownIssuer")
    expect(verdict(run(pair(), { headers: { y: forgedTwo } }))).toBe("JwtVerificationFail")
  })

  it("do not report a token that another rule accepts", () => {
    // Rule `strict` rejects the token at x for its audience, rule `one` accepts it; no rule knows the one at y.
    const strict: JwtRule = { ...one, ...at("x"), audiences: ["a"] }
    const compiled = program(strict, { ...one, ...at("x") }, { ...two, ...at("y") })
    expect(verdict(run(compiled, { headers: { x: tokenOne, y: strange } }))).toBe("JwtUnknownIssuer")
  })

  it("accept tokens with a rule each, although a third rule accepts only some", () => {
    const wide: JwtRule = { ...two, fromHeaders: [{ name: "x" }, { name: "y" }] }
    const compiled = program({ ...one, ...at("x") }, wide)
    expect(verdict(run(compiled, { headers: { x: tokenOne, y: tokenTwo } }))).toBe("pass as one")
  })
})

describe("the reason among several errors", () => {
  // Three rules in issuer order, each with its own location; each location holds a token with the given error.
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["expired", "-", "-"], "JwtExpired"],
    [["expired", "malformed", "-"], "JwtExpired"],
    [["malformed", "expired", "-"], "JwtBadFormat"],
    [["unknown", "expired", "malformed"], "JwtBadFormat"],
    [["unknown", "malformed", "expired"], "JwtExpired"],
    [["unknown", "expired", "unknown"], "JwtExpired"],
    [["unknown", "-", "unknown"], "JwtUnknownIssuer"],
    [["-", "-", "malformed"], "JwtBadFormat"],
    [["-", "-", "-"], "pass"],
  ]
  it.each(cases)("%j gives %s", (errors, expected) => {
    const tokens: Record<string, string> = { expired: expiredOne, malformed: "abc", unknown: strange }
    const rules = ["x", "y", "z"].map(name => ({ ...one, ...at(name) }))
    const headers = Object.fromEntries(
      ["x", "y", "z"].flatMap((name, index) => {
        const token = tokens[errors[index] ?? "-"]
        return token === undefined ? [] : [[name, token]]
      }),
    )
    expect(verdict(run(program(...rules), { headers }))).toBe(expected)
  })
})

describe("order of rules", () => {
  const order = (...policies: Parameters<typeof compileTokenRules>[0]) =>
    compileTokenRules(policies, () => undefined).rules.map(({ ref }) => `${ref.policy.name}${ref.rule}`)

  it("is issuer bytes, then age, then position", () => {
    const young = policy("young", [{ issuer: "b" }, { issuer: "a" }, { issuer: "b" }], {}, "2026-02-01T00:00:00Z")
    const old = policy("old", [{ issuer: "b" }, { jwksUri: "https://k" }], {}, "2026-01-01T00:00:00Z")
    expect(order(young, old)).toEqual(["old1", "young1", "old0", "young0", "young2"])
    expect(order(old, young)).toEqual(["old1", "young1", "old0", "young0", "young2"])
  })

  it("compares bytes, not UTF-16 units", () => {
    expect(order(policy("p", [{ issuer: "\u{10000}" }, { issuer: "\uffff" }]))).toEqual(["p1", "p0"])
  })

  it("is empty if no policy has a rule", () => {
    expect(order(policy("p", []))).toEqual([])
    expect(verdict(run(program(), bearing("abc")))).toBe("pass")
  })
})
