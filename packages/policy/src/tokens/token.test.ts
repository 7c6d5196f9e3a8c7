// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { anyCodePoint } from "../testing/any-code-point.js"
import { encode } from "./testing/issuer.js"
import { MAX_TOKEN_CHARACTERS, parseToken } from "./token.js"
import { TOKEN_ERRORS } from "./token-errors.js"

const HEADER = encode({ alg: "ES256", kid: "k" })
const PAYLOAD = encode({ iss: "i" })

function error(text: string): string {
  const token = parseToken(text)
  return typeof token === "string" ? token : "token"
}

describe("the three sections", () => {
  it.each([
    "",
    ".",
    "..",
    "...",
    "abc",
    "a.b",
    `${HEADER}.${PAYLOAD}.`,
    `${HEADER}..AAAA`,
    `.${PAYLOAD}.AAAA`,
    `..${HEADER}.${PAYLOAD}.AAAA`,
    `${HEADER}.${PAYLOAD}.AAAA.`,
    `${HEADER}.${PAYLOAD}.AAAA.AAAA.AAAA`,
    `${HEADER}.${PAYLOAD}.${"A".repeat(MAX_TOKEN_CHARACTERS)}`,
  ])("rejects %.60j as no token at all", text => {
    expect(error(text)).toBe("JwtBadFormat")
  })

  it("parses a valid token", () => {
    const token = parseToken(`${HEADER}.${PAYLOAD}.AAAA`)
    expect(token).toMatchObject({ kid: "k", issuer: "i", payload: PAYLOAD, signingInput: `${HEADER}.${PAYLOAD}` })
  })

  it.each([
    [`${HEADER}!.${PAYLOAD}.AAAA`, "JwtHeaderBadBase64"],
    [`A.${PAYLOAD}.AAAA`, "JwtHeaderBadBase64"],
    [`${encode("[]")}.${PAYLOAD}.AAAA`, "JwtHeaderBadJson"],
    [`${encode("{")}.${PAYLOAD}.AAAA`, "JwtHeaderBadJson"],
    [`${encode({})}.${PAYLOAD}.AAAA`, "JwtHeaderBadAlg"],
    [`${encode({ alg: 1 })}.${PAYLOAD}.AAAA`, "JwtHeaderBadAlg"],
    [`${encode({ alg: ["ES256"] })}.${PAYLOAD}.AAAA`, "JwtHeaderBadAlg"],
    [`${encode({ alg: "none" })}.${PAYLOAD}.AAAA`, "JwtHeaderAlgNotSupported"],
    [`${encode({ alg: "toString" })}.${PAYLOAD}.AAAA`, "JwtHeaderAlgNotSupported"],
    [`${encode({ alg: "ES256", kid: 1 })}.${PAYLOAD}.AAAA`, "JwtHeaderBadKid"],
    [`${encode({ alg: "ES256", kid: null })}.${PAYLOAD}.AAAA`, "JwtHeaderBadKid"],
    [`${HEADER}.${PAYLOAD}*.AAAA`, "JwtPayloadBadBase64"],
    [`${HEADER}.AAA=.AAAA`, "JwtPayloadBadBase64"],
    [`${HEADER}.${encode("null")}.AAAA`, "JwtPayloadBadJson"],
    [`${HEADER}.${encode("x")}.AAAA`, "JwtPayloadBadJson"],
    [`${HEADER}.${PAYLOAD}.AAA=`, "JwtSignatureBadBase64"],
    [`${HEADER}.${PAYLOAD}.AB`, "JwtSignatureBadBase64"],
    [`${HEADER}.${PAYLOAD}.A A`, "JwtSignatureBadBase64"],
  ])("rejects %.60s as %s", (text, expected) => {
    expect(error(text)).toBe(expected)
  })

  // RFC 7515 section 4.1.11, RFC 7797 section 6.
  it.each([
    { crit: ["exp"], exp: 1 },
    { crit: ["b64"], b64: false },
    { crit: ["b64"], b64: true },
    { crit: ["alg"] },
    { crit: [] },
    { crit: "b64" },
    { crit: null },
    { b64: false },
  ])("rejects a header with %j, which says that it must be understood", extension => {
    expect(error(`${encode({ alg: "ES256", ...extension })}.${PAYLOAD}.AAAA`)).toBe("JwtHeaderCritNotSupported")
  })

  it("tolerates exact padding in the header, and ignores `typ`, `cty` and unknown members", () => {
    const header = Buffer.from(JSON.stringify({ alg: "ES256", typ: 1, cty: {}, b64: true, x: ["y"] }))
    for (const text of [
      header,
      Buffer.concat([header, Buffer.from(" ")]),
      Buffer.concat([header, Buffer.from("  ")]),
    ]) {
      const padded = text.toString("base64").replaceAll("+", "-").replaceAll("/", "_")
      expect(error(`${padded}.${PAYLOAD}.AAAA`)).toBe("token")
    }
  })
})

describe("claim types", () => {
  it.each([
    ['{"iss":1}', "JwtIssNotString"],
    ['{"iss":null}', "JwtIssNotString"],
    ['{"sub":["a"]}', "JwtSubNotString"],
    ['{"jti":7}', "JwtJtiNotString"],
    ['{"exp":"1"}', "JwtExpNotInteger"],
    ['{"exp":null}', "JwtExpNotInteger"],
    ['{"exp":-1}', "JwtExpOutOfRange"],
    ['{"exp":18446744073709551616}', "JwtExpOutOfRange"],
    ['{"exp":1e999}', "JwtExpOutOfRange"],
    ['{"nbf":true}', "JwtNbfNotInteger"],
    ['{"nbf":-0.5}', "JwtNbfOutOfRange"],
    ['{"iat":{}}', "JwtIatNotInteger"],
    ['{"iat":1e20}', "JwtIatOutOfRange"],
    ['{"aud":1}', "JwtAudNotStringOrList"],
    ['{"aud":null}', "JwtAudNotStringOrList"],
    ['{"aud":["a",1]}', "JwtAudNotStringOrList"],
    ['{"aud":{"0":"a"}}', "JwtAudNotStringOrList"],
    ["{}", "token"],
    ['{"exp":0,"iat":0.5,"nbf":1e19,"aud":[],"iss":"","sub":"","jti":""}', "token"],
    ['{"exp":-1,"exp":1}', "token"],
  ])("takes %s for %s", (payload, expected) => {
    expect(error(`${HEADER}.${encode(payload)}.AAAA`)).toBe(expected)
  })

  it("scrubs audiences", () => {
    const token = parseToken(`${HEADER}.${encode({ aud: ["https://a.com/", "http://b", "c//", "ftp://d/"] })}.AAAA`)
    expect(token).toMatchObject({ audiences: ["a.com", "b", "c/", "ftp://d"] })
  })
})

it("parses any bytes to a token or a known error, and never throws", () => {
  const known = new Set<string>(TOKEN_ERRORS)
  const section = fc.oneof(
    fc.string(),
    fc.string({ unit: anyCodePoint }),
    fc.json().map(encode),
    fc.uint8Array().map(bytes => Buffer.from(bytes).toString("base64url")),
    fc.constantFrom(HEADER, PAYLOAD, "AAAA"),
  )
  fc.assert(
    fc.property(fc.array(section, { maxLength: 5 }), sections => {
      const result = parseToken(sections.join("."))
      expect(typeof result !== "string" || known.has(result)).toBe(true)
    }),
    { numRuns: 500 * inject("effort") },
  )
})
