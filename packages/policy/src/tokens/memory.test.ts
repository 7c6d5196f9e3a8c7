// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import type { Authentication } from "./authenticate.js"
import type { KeySet } from "./key-set.js"
import { TokenMemory } from "./memory.js"
import { compileTokenRules, type TokenProgram } from "./program.js"
import { readToken, TokenReading } from "./reading.js"
import { ISSUER, jwks, makeSigner, NOW, type Signer, signer } from "./testing/issuer.js"
import { keySet, policy, run, verdict } from "./testing/stage.js"

let issuer: Signer
let rule: JwtRule
let valid: string
let memory: TokenMemory

beforeAll(async () => {
  issuer = await signer("ES256", "k1")
  rule = { issuer: ISSUER, jwksUri: jwks(issuer.jwk) }
  valid = await issuer.sign()
})

beforeEach(() => {
  memory = new TokenMemory()
})

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

function heapUsed(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

let tries = 0

/** A key set that counts the signature checks with one of its keys. */
function counting(text: string): KeySet {
  const set = keySet(text)
  const keys = set.keys.map(({ key, ...rest }) => ({
    ...rest,
    get key() {
      tries++
      return key
    },
  }))
  return { ...set, keys }
}

/** Rules whose `jwksUri` is the text of the key set that was fetched, or "" if none was. */
function program(...rules: readonly JwtRule[]): TokenProgram {
  return compileTokenRules([policy("p", rules)], ({ jwksUri = "" }) => (jwksUri === "" ? undefined : counting(jwksUri)))
}

const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** The outcome, and the number of signature checks. */
function counted(compiled: TokenProgram, token: string, now = NOW): [string, number] {
  tries = 0
  const outcome = verdict(run(compiled, bearing(token), { memory, now }))
  return [outcome, tries]
}

describe("a remembered token", () => {
  it("is verified once, however often it is used, and is one shared value", () => {
    const compiled = program(rule)
    expect(counted(compiled, valid)).toEqual(["pass as alice", 1])
    expect(counted(compiled, valid)).toEqual(["pass as alice", 0])
    const token = (result: Authentication) => (result.outcome === "pass" ? result.token : undefined)
    const first = token(run(compiled, bearing(valid), { memory }))
    expect(token(run(compiled, bearing(valid), { memory }))).toBe(first)
    // The same applies after the policies were compiled again.
    expect(token(run(program(rule), bearing(valid), { memory }))).toBe(first)
  })

  it("expires between two uses", () => {
    const compiled = program(rule)
    expect(counted(compiled, valid, NOW)).toEqual(["pass as alice", 1])
    expect(counted(compiled, valid, NOW + 3660)).toEqual(["pass as alice", 0])
    expect(counted(compiled, valid, NOW + 3660.001)).toEqual(["JwtExpired", 0])
    expect(memory.size).toBe(0)
  })

  it("becomes not yet valid if the clock goes back", async () => {
    const token = await issuer.sign({ nbf: NOW })
    expect(counted(program(rule), token)).toEqual(["pass as alice", 1])
    expect(counted(program(rule), token, NOW - 100)).toEqual(["JwtNotYetValid", 0])
  })

  it("does not outlive its key", async () => {
    const other = await signer("ES256", "k2")
    const withKeys = (...keys: object[]) => program({ ...rule, jwksUri: keys.length === 0 ? "" : jwks(...keys) })
    expect(counted(withKeys(issuer.jwk, other.jwk), valid)).toEqual(["pass as alice", 1])
    expect(counted(withKeys(other.jwk), valid)).toEqual(["JwksKidAlgMismatch", 0])
    expect(counted(withKeys(), valid)).toEqual(["JwksFetchFail", 0])
    // The same set again has the same revision.
    expect(counted(withKeys(other.jwk, issuer.jwk), valid)).toEqual(["pass as alice", 0])
  })

  it("does not survive another key under its kid", async () => {
    const rekeyed = await makeSigner("ES256", "k1")
    expect(counted(program(rule), valid)).toEqual(["pass as alice", 1])
    const compiled = program({ ...rule, jwksUri: jwks(rekeyed.jwk) })
    expect(counted(compiled, valid)).toEqual(["JwtVerificationFail", 1])
    expect(counted(compiled, await rekeyed.sign())).toEqual(["pass as alice", 1])
  })

  it("is still judged by each rule's issuer and audience", async () => {
    const token = await issuer.sign({ aud: "a" })
    expect(counted(program({ ...rule, audiences: ["a"] }), token)).toEqual(["pass as alice", 1])
    expect(counted(program({ ...rule, audiences: ["b"] }), token)).toEqual(["JwtAudienceNotAllowed", 0])
    expect(counted(program({ ...rule, issuer: "other" }), token)).toEqual(["JwtUnknownIssuer", 0])
    expect(counted(program({ ...rule, requireExpiration: true }), token)).toEqual(["pass as alice", 0])
  })

  it("is shown to each rule by that rule's space-delimited claims and output headers", async () => {
    const token = await issuer.sign({ roles: "a b" })
    const seen = (changes: Partial<JwtRule>) => run(program({ ...rule, ...changes }), bearing(token), { memory })
    for (let round = 0; round < 2; round++) {
      expect(seen({})).toMatchObject({ token: { claims: { roles: "a b" } }, edits: { setHeaders: [] } })
      expect(seen({ spaceDelimitedClaims: ["roles"] })).toMatchObject({ token: { claims: { roles: ["a", "b"] } } })
      const output = { outputClaimToHeaders: [{ header: "x", claim: "sub" }] }
      expect(seen(output)).toMatchObject({ edits: { setHeaders: [["x", "alice"]] } })
    }
  })
})

describe("a forged token", () => {
  it("does not profit from a remembered one with the same tail or head", async () => {
    const compiled = program(rule)
    const [header = "", payload = "", signature = ""] = valid.split(".")
    expect(counted(compiled, valid)).toEqual(["pass as alice", 1])
    const admin = Buffer.from(JSON.stringify({ iss: ISSUER, sub: "admin" })).toString("base64url")
    const sameTail = `${header}.${admin}.${signature}`
    const sameHead = `${header}.${payload}.${(await issuer.sign({ sub: "x" })).split(".")[2]}`
    const longer = `${header}.${payload}.AAAA${signature}`
    for (const forged of [sameTail, sameHead, sameTail]) {
      expect(counted(compiled, forged)).toEqual(["JwtVerificationFail", 1])
    }
    // No signature of the curve has this length, so it is not even tried.
    expect(counted(compiled, longer)).toEqual(["JwtVerificationFail", 0])
    expect(counted(compiled, valid)).toEqual(["pass as alice", 0])
    expect(memory.size).toBe(1)
  })

  it("is never remembered, and neither is an expired or malformed one", async () => {
    const forger = await makeSigner("ES256", "k1")
    for (const token of [
      await forger.sign(),
      await issuer.sign({ exp: 1 }),
      "abc",
      "a.b.c",
      await issuer.sign({ iss: "x" }),
    ]) {
      run(program(rule), bearing(token), { memory })
    }
    expect(memory.size).toBe(0)
  })
})

describe("two rules with their own keys", () => {
  it("check a remembered token once each, not once per request", async () => {
    // Keys without a kid are tried for any token, so the rejection by the wrong rule costs a signature check too.
    const { kid: _, ...nameless } = (await signer("ES256", "k2")).jwk
    const compiled = program({ ...rule, jwksUri: jwks(nameless) }, rule)
    expect(counted(compiled, valid)).toEqual(["pass as alice", 2])
    expect(counted(compiled, valid)).toEqual(["pass as alice", 0])
  })
})

describe("the memory", () => {
  const reading = (text: string) => new TokenReading(text, { claims: {} } as TokenReading["token"])

  it("is bounded in entries and in bytes, and drops the least recently used", () => {
    const two = new TokenMemory({ entries: 2, bytes: 1_000_000 })
    const [a, b, c] = ["a", "b", "c"].map(letter => letter.repeat(100))
    for (const text of [a, b]) two.remember(reading(String(text)))
    expect(two.recall(String(a))).toBeDefined()
    two.remember(reading(String(c)))
    expect(two.recall(String(b))).toBeUndefined()
    expect(two.recall(String(a))).toBeDefined()

    const small = new TokenMemory({ entries: 1000, bytes: 100_000 })
    for (let index = 0; index < 1000; index++) small.remember(reading(`${index}`.padStart(1000, "x")))
    expect(small.size).toBeLessThan(20)
  })

  it("holds ten thousand tokens of the usual size", () => {
    for (let index = 0; index < 10_000; index++) memory.remember(reading(`${index}`.padStart(600, "x")))
    expect(memory.size).toBe(10_000)
  })

  it.each([
    ["objects", "{}"],
    ["objects in objects", '{"":{"":{}}}'],
    ["lists", "[]"],
    ["numbers", "0.5"],
    ["texts", '"a"'],
  ])("takes no more than its bytes for claims of many %s", (_, piece) => {
    const bytes = 8 * 1024 * 1024
    memory = new TokenMemory({ bytes })
    const before = heapUsed()
    for (let token = 0; token < 100; token++) {
      const claims = `{"n":${token},"many":[${`${piece},`.repeat(20_000 / (piece.length + 1))}${piece}]}`
      const signature = Buffer.alloc(64, token).toString("base64url")
      const reading = readToken(
        `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.${Buffer.from(claims).toString("base64url")}.${signature}`,
      )
      if (reading instanceof TokenReading) memory.remember(reading)
    }
    expect(heapUsed() - before).toBeLessThan(1.25 * bytes)
    expect(memory.size).toBeGreaterThan(3)
  })

  it("lets two tokens with the same tail replace each other", () => {
    const tail = "t".repeat(24)
    memory.remember(reading(`a${tail}`))
    memory.remember(reading(`b${tail}`))
    expect(memory.recall(`a${tail}`)).toBeUndefined()
    expect(memory.recall(`b${tail}`)?.text).toBe(`b${tail}`)
    expect(memory.recall(tail)).toBeUndefined()
  })

  it("never confuses two texts, whatever their characters", () => {
    // U+0141 truncated to one byte would be `A`.
    const text = valid.replace(/^e/, "\u0165")
    expect(readToken(text)).toBe("JwtHeaderBadBase64")
  })
})
