// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { createLocalJWKSet, errors, jwtVerify } from "jose"
import { beforeAll, describe, expect, inject, it } from "vitest"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { anyCodePoint } from "../testing/any-code-point.js"
import { authenticate } from "./authenticate.js"
import { TokenMemory } from "./memory.js"
import { compileTokenRules } from "./program.js"
import { ALGORITHMS, ISSUER, jwks, makeSigner, NOW, type Signer, signer } from "./testing/issuer.js"
import { bearer, policy, program, request, run, verdict } from "./testing/stage.js"
import { TOKEN_ERRORS } from "./token-errors.js"

const BASE64URL = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

let signers: Signer[]
beforeAll(async () => {
  signers = await Promise.all(ALGORITHMS.map(alg => signer(alg)))
})

describe("a token with one character changed", () => {
  it.each(ALGORITHMS)("is rejected for a change at any position: %s", async alg => {
    const issuer = await signer(alg)
    const token = await issuer.sign()
    // No kid and no issuer, so that only the signature can be the reason.
    const compiled = program({ jwks: jwks({ ...issuer.jwk, kid: undefined }) })
    const memory = new TokenMemory()
    expect(verdict(run(compiled, { headers: { authorization: `Bearer ${token}` } }, { memory }))).toBe("pass as alice")
    fc.assert(
      fc.property(
        fc.nat({ max: token.length - 1 }),
        fc.constantFrom(...BASE64URL, ".", "=", "+", "/", " ", "\u0141"),
        (at, character) => {
          if (token[at] === character) return
          const mutated = token.slice(0, at) + character + token.slice(at + 1)
          expect(authenticate(compiled, bearer(mutated), NOW, memory).outcome).toBe("reject")
        },
      ),
      { numRuns: 150 * inject("effort") },
    )
  })

  it("is rejected with a different last character of a section", async () => {
    for (const alg of ["ES256", "ES512", "EdDSA", "RS256"] as const) {
      const issuer = await signer(alg)
      for (const sub of ["a", "ab", "abc"]) {
        const token = await issuer.sign({ sub })
        const compiled = program({ jwks: jwks(issuer.jwk) })
        const ends = [token.indexOf(".") - 1, token.lastIndexOf(".") - 1, token.length - 1]
        for (const at of ends) {
          for (const character of BASE64URL) {
            if (token[at] === character) continue
            const mutated = token.slice(0, at) + character + token.slice(at + 1)
            expect(authenticate(compiled, bearer(mutated), NOW, undefined).outcome).toBe("reject")
          }
        }
      }
    }
  })

  // Not before the first character: characters that cannot begin a token are skipped between scheme and token.
  it("is rejected with one character more or less", async () => {
    const issuer = await signer("ES256")
    const token = await issuer.sign()
    const compiled = program({ jwks: jwks(issuer.jwk) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: token.length - 1 }),
        fc.constantFrom(...BASE64URL, "=", "."),
        (at, character) => {
          const longer = token.slice(0, at) + character + token.slice(at)
          const shorter = token.slice(0, at) + token.slice(at + 1)
          expect(authenticate(compiled, bearer(longer), NOW, undefined).outcome).toBe("reject")
          expect(authenticate(compiled, bearer(shorter), NOW, undefined).outcome).toBe("reject")
        },
      ),
    )
  })
})

describe("garbage", () => {
  it("never throws, and gets a known error", () => {
    const known = new Set<string>([...TOKEN_ERRORS])
    const compiled = program(
      { issuer: ISSUER, jwks: jwks(...signers.map(({ jwk }) => jwk)) },
      {
        fromHeaders: [{ name: "x" }, { name: "authorization", prefix: "Bearer " }],
        fromParams: ["p", "q"],
        fromCookies: ["c"],
      },
    )
    const text = fc.oneof(fc.string({ unit: anyCodePoint }), fc.string(), fc.base64String(), fc.constant("a.b.c"))
    const line = fc.oneof(
      text,
      text.map(value => `Bearer ${value}`),
      text.map(value => `c=${value}; d=1`),
    )
    const headers = fc.record(
      {
        authorization: fc.array(line, { maxLength: 20 }),
        x: fc.array(line),
        cookie: fc.array(line),
        origin: fc.array(line),
      },
      { requiredKeys: [] },
    )
    const target = fc.oneof(
      text,
      text.map(value => `/?p=${value}&q=${value}&access_token=${value}`),
    )
    fc.assert(
      fc.property(fc.constantFrom("GET", "OPTIONS"), target, headers, (method, path, lines) => {
        const result = run(compiled, { method, target: path, headers: lines })
        if (result.outcome === "reject") {
          expect(known.has(result.error)).toBe(true)
          expect(result.challenge).toMatch(/^[\x20-\x7e]*$/)
        } else expect(result.token).toBeUndefined()
      }),
      { numRuns: 200 * inject("effort") },
    )
  })
})

describe("memory", () => {
  it("never changes an answer, over any history of requests, clocks and key sets", async () => {
    const rekeyed = await makeSigner("ES256", "k1")
    const [first, second] = [await signer("ES256", "k1"), await signer("ES256", "k2")]
    const sets = [[first.jwk], [second.jwk], [first.jwk, second.jwk], [rekeyed.jwk]].map(keys => jwks(...keys))
    const claims = [
      {},
      { aud: "a" },
      { exp: NOW + 100 },
      { nbf: NOW + 100 },
      { iss: "other" },
      { scope: "a b" },
      { exp: 1 },
    ]
    const tokens: string[] = []
    for (const issuer of [first, second, rekeyed]) for (const claim of claims) tokens.push(await issuer.sign(claim))
    // Forgeries with the same tail as a valid token.
    for (const token of tokens.slice(0, 3))
      tokens.push(`${tokens[8]?.split(".").slice(0, 2).join(".")}.${token.split(".")[2]}`)

    const rule = fc.record({
      issuer: fc.constantFrom(ISSUER, "other"),
      jwks: fc.constantFrom(...sets),
      audiences: fc.constantFrom([], ["a"]),
      requireExpiration: fc.boolean(),
      spaceDelimitedClaims: fc.constantFrom([], ["aud"]),
      forwardOriginalToken: fc.boolean(),
    })
    const step = fc.record({
      program: fc.nat({ max: 2 }),
      lines: fc.array(fc.constantFrom(...tokens), { maxLength: 2 }),
      now: fc.constantFrom(NOW, NOW + 120, NOW + 200, NOW + 9999),
    })
    const history = fc.record({
      programs: fc.array(fc.array(rule, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 3 }),
      steps: fc.array(step, { maxLength: 12 }),
      entries: fc.constantFrom(1, 2, 100),
    })
    fc.assert(
      fc.property(history, ({ programs, steps, entries }) => {
        const memory = new TokenMemory({ entries })
        const compiled = programs.map(rules => program(...rules))
        for (const { program: index, lines, now } of steps) {
          const asked = request({ headers: { authorization: lines.map(token => `Bearer ${token}`) } })
          const chosen = compiled[index] ?? program()
          expect(authenticate(chosen, asked, now, memory)).toEqual(authenticate(chosen, asked, now, undefined))
        }
      }),
      { numRuns: 150 * inject("effort") },
    )
  })
})

describe("jose as a second opinion", () => {
  it("agrees on every token it understands the same way", async () => {
    const keys = signers.map(({ jwk, alg }, index) => ({ ...jwk, kid: `key-${index}`, alg }))
    const known = createLocalJWKSet({ keys })
    const rule: JwtRule = { issuer: ISSUER, jwks: jwks(...keys), audiences: ["a", "b"] }
    const compiled = compileTokenRules([policy("p", [rule])], () => undefined)
    const seconds = fc.integer({ min: NOW - 120, max: NOW + 120 })
    const claims = fc.record(
      {
        iss: fc.constantFrom(ISSUER, ISSUER, ISSUER, "other"),
        aud: fc.constantFrom<unknown[]>("a", ["b", "c"], "c", []),
        exp: seconds,
        nbf: seconds,
        sub: fc.string(),
        extra: fc.jsonValue({ maxDepth: 3 }),
      },
      { requiredKeys: ["iss"] },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: ALGORITHMS.length - 1 }),
        fc.nat({ max: ALGORITHMS.length - 1 }),
        claims,
        async (by, named, body) => {
          const issuer = signers[by]
          if (issuer === undefined) return
          const kid = `key-${by === named || named % 3 > 0 ? by : named}`
          const token = await issuer.sign({ exp: undefined, ...body, iat: undefined }, { kid })
          const ours = authenticate(compiled, bearer(token), NOW, undefined).outcome
          // jose's tolerance counts the boundary second as expired, ours does not (`now > exp + 60`).
          if ("exp" in body && body.exp === NOW - 60) return
          const theirs = await jwtVerify(token, known, {
            issuer: ISSUER,
            audience: ["a", "b"],
            clockTolerance: 60,
            currentDate: new Date(NOW * 1000),
          }).then(
            () => "pass",
            error =>
              error instanceof errors.JOSEError || error instanceof TypeError ? "reject" : Promise.reject(error),
          )
          expect(ours).toBe(theirs)
        },
      ),
      { numRuns: 150 * inject("effort") },
    )
  })
})
