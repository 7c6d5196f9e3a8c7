// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { compile, decide, explain } from "../program.js"
import { PrincipalIndex } from "./index/principal-index.js"
import { principalCovers, principalsApart, readPrincipal } from "./request-principal.js"
import { allow, deny, httpRequest, mesh, naming, policy, workload } from "./testing/requests.js"

const text = fc
  .array(fc.constantFrom("i", "i/a", "a", "b", "/", "https://i", "*"), { maxLength: 4 })
  .map(parts => parts.join(""))
const entry = text.filter(value => value !== "")

function holds(value: string, issuers: readonly string[], issuer: string, subject: string): boolean {
  const index = new PrincipalIndex<true>()
  index.entry(readPrincipal(value, new Set(issuers)), () => true)
  return index.some(issuer, subject, () => true)
}

describe("an entry without wildcard", () => {
  it("is one pair of issuer and subject, which joined are the entry", () => {
    fc.assert(
      fc.property(entry, fc.array(text), text, text, (value, issuers, issuer, subject) => {
        if (value.startsWith("*") || value.endsWith("*") || !value.includes("/")) return
        if (holds(value, issuers, issuer, subject)) expect(`${issuer}/${subject}`).toBe(value)
      }),
    )
  })

  it("belongs to its own issuer if that is named and no longer one matches", () => {
    fc.assert(
      fc.property(text, text, (issuer, subject) => {
        const value = `${issuer}/${subject}`
        if (value.startsWith("*") || value.endsWith("*")) return
        expect(holds(value, [issuer], issuer, subject)).toBe(true)
      }),
    )
  })
})

describe("what one entry covers of another", () => {
  it("is unambiguous for every issuer", () => {
    let covered = 0
    fc.assert(
      fc.property(entry, entry, fc.array(text), text, text, (wide, narrow, issuers, issuer, subject) => {
        if (!principalCovers(wide, narrow)) return
        covered++
        if (holds(narrow, issuers, issuer, subject)) expect(holds(wide, issuers, issuer, subject)).toBe(true)
      }),
      { numRuns: 5_000 * inject("effort") },
    )
    expect(covered).toBeGreaterThan(100)
  })

  it("is nothing if one of two readings of the entry lies outside", () => {
    expect(principalCovers("i/*", "i/a")).toBe(true)
    expect(principalCovers("i/*", "i/a/b")).toBe(false)
    expect(principalCovers("*", "i/a/b")).toBe(true)
  })
})

/** A token that an entry may mean: its text divided at some slash, with a star replaced by some text. */
const meant = (value: string, at: number): readonly [issuer: string, subject: string] => {
  const plain = value.replace(/^\*|\*$/g, "a")
  const slashes = [...plain.matchAll(/\//g)].map(({ index }) => index)
  const slash = slashes[at % Math.max(1, slashes.length)] ?? plain.length
  return [plain.slice(0, slash), plain.slice(slash + 1)]
}

describe("two entries that are apart", () => {
  it("have no token in common, whichever issuers are named", () => {
    const seen = { apart: 0, together: 0 }
    fc.assert(
      fc.property(entry, entry, fc.array(text), fc.nat(9), (a, b, issuers, at) => {
        const [issuer, subject] = meant(a, at)
        const both = holds(a, issuers, issuer, subject) && holds(b, issuers, issuer, subject)
        const apart = principalsApart(a, b)
        if (both) seen.together++
        if (apart) seen.apart++
        expect(both && apart).toBe(false)
      }),
      { numRuns: 5_000 * inject("effort") },
    )
    expect(seen.apart).toBeGreaterThan(200)
    expect(seen.together).toBeGreaterThan(50)
  })

  it.each([
    ["iss", "iss/", false],
    ["i/*", "i/a/b", false],
    ["i/*", "j/a/b", true],
    ["i/a/b", "i/a/c", true],
    ["i/*", "j/*", true],
    ["*/a", "i/*", false],
  ])("%s and %s: %s", (a, b, expected) => {
    expect(principalsApart(a, b)).toBe(expected)
    expect(principalsApart(b, a)).toBe(expected)
  })
})

describe("a shadow RequestAuthentication", () => {
  const principal = { iss: "https://i", sub: "a/b" }
  const rule = { from: [{ source: { requestPrincipals: ["https://i/a/b"] } }] }
  const named = [naming(["https://i"]), naming(["https://i/a"], "Shadow")]

  it("does not change which callers an enforced rule matches", () => {
    const program = compile([deny(rule), ...named], workload, mesh)
    expect(decide(program, httpRequest({ claims: principal })).verdict).toBe("deny")
  })

  it("changes the shadow verdict", () => {
    const shadow = policy("later", { enforcement: "Shadow", rules: [{}] })
    const program = compile([allow(rule), shadow, deny(rule), ...named], workload, mesh)
    const request = httpRequest({ claims: principal })
    const decision = decide(program, request)
    expect([decision.verdict, decision.shadow?.verdict]).toEqual(["deny", "allow"])
    const { policies, protocol, ...explained } = explain(program, request)
    expect(explained).toEqual(JSON.parse(JSON.stringify(decision), (_, value) => value ?? undefined))
    expect(policies.map(({ policy }) => policy.name)).toEqual(["deny", "allow", "later"])
    expect(protocol).toBe("http")
  })
})
