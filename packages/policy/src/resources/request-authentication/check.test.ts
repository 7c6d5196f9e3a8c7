// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from "node:crypto"
import { describe, expect, it } from "vitest"
import type { RequestAuthentication } from "../document.js"
import { expectClean, expectError, expectWarning, judge, type Rejection } from "../testing/documents.js"

const KIND = "RequestAuthentication"
const RULE = "spec.jwtRules[0]"
const rule = (fields: unknown) => ({ jwtRules: [fields] })
const keys = (...list: readonly unknown[]) => JSON.stringify({ keys: list })

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const secret = privateKey.export({ format: "jwk" })
const { d: _, ...open } = secret
const issuer = "https://issuer.example"
const jwksUri = "https://issuer.example/keys"
/** An authority's certificate, created for this test. */
const certificate = [
  "-----BEGIN CERTIFICATE-----",
  "MIIBcTCCARegAwIBAgIUdRM9/KxS9nBCCjfI4nncq1WfNWwwCgYIKoZIzj0EAwIw",
  "DTELMAkGA1UEAwwCY2EwIBcNMjYxMTE4MTc1NjU3WhgPMjEyNjEwMjUxNzU2NTda",
  "MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtQLDSHpX",
  "8rHQ+lQ4qy9oUniX2gMncJUgTsA/hpm53fE9OGsQ7R39xa045q5JONSCUJtWLcVx",
  "I3HsTMIBm0dSSaNTMFEwHQYDVR0OBBYEFFCqc89kDcmDmo/izP4DNnlfy8sgMB8G",
  "A1UdIwQYMBaAFFCqc89kDcmDmo/izP4DNnlfy8sgMA8GA1UdEwEB/wQFMAMBAf8w",
  "CgYIKoZIzj0EAwIDSAAwRQIhANflw5HUdnDei9ZjD/TmUBNt1PJGE+LZTLmctDOq",
  "/drzAiA15yXnuAsiHtPU9cNf4D+t2+IXT9PvI4cWEHI/Y34Nug==",
  "-----END CERTIFICATE-----",
].join("\n")

describe("a RequestAuthentication is rejected", () => {
  const rejections: readonly Rejection[] = [
    ["an empty issuer", rule({ issuer: "", jwksUri }), `${RULE}.issuer`, "issuer or jwksUri must be non-empty string"],
    ["neither issuer nor keys", rule({ audiences: ["a"] }), RULE, "issuer or jwksUri must be non-empty string"],
    [
      "an empty audience",
      rule({ issuer, audiences: [""] }),
      `${RULE}.audiences[0]`,
      "audience must be non-empty string",
    ],
    [
      "jwks beside jwksUri",
      rule({ issuer, jwksUri, jwks: keys(open) }),
      `${RULE}.jwks`,
      "only one of jwks or jwksUri can be set",
    ],
    [
      "jwks beside jwks_uri",
      rule({ issuer, jwks_uri: jwksUri, jwks: keys(open) }),
      `${RULE}.jwks`,
      "only one of jwks or jwksUri",
    ],
    [
      "both spellings of jwksUri",
      rule({ issuer, jwksUri, jwks_uri: jwksUri }),
      `${RULE}.jwks_uri`,
      "remove `jwks_uri`",
    ],
    [
      "a relative jwksUri",
      rule({ issuer, jwksUri: "/keys" }),
      `${RULE}.jwksUri`,
      "url must have scheme http:// or https://",
    ],
    [
      "a jwksUri without scheme",
      rule({ issuer, jwksUri: "issuer.example/keys" }),
      `${RULE}.jwksUri`,
      "not an absolute URL",
    ],
    [
      "a jwks_uri of another scheme",
      rule({ issuer, jwks_uri: "ftp://a/b" }),
      `${RULE}.jwks_uri`,
      'URI scheme "ftp" is not supported',
    ],
    [
      "a file as jwksUri",
      rule({ issuer, jwksUri: "file:///etc/passwd" }),
      `${RULE}.jwksUri`,
      'URI scheme "file" is not supported',
    ],
    ["a jwksUri without host", rule({ issuer, jwksUri: "https://" }), `${RULE}.jwksUri`, "not a valid URL"],
    ["a jwksUri with a named port", rule({ issuer, jwksUri: "https://a:b/" }), `${RULE}.jwksUri`, "not a valid URL"],
    [
      "a jwksUri with one slash",
      rule({ issuer, jwksUri: "https:/a/b" }),
      `${RULE}.jwksUri`,
      "url must have scheme http:// or https://",
    ],
    ["a jwksUri with a blank", rule({ issuer, jwksUri: "https://a/b c" }), `${RULE}.jwksUri`, "not a valid URL"],
    [
      "a jwksUri with credentials",
      rule({ issuer, jwksUri: "https://u:p@a/b" }),
      `${RULE}.jwksUri`,
      "credentials in a URL",
    ],
    [
      "a jwksUri of 2049 characters",
      rule({ issuer, jwksUri: `https://a/${"b".repeat(2039)}` }),
      `${RULE}.jwksUri`,
      "may not have more than 2048 characters",
    ],
    ["an empty jwksUri", rule({ issuer, jwksUri: "" }), `${RULE}.jwksUri`, "must not be empty"],
    ["jwks that is no JSON", rule({ issuer, jwks: "{" }), `${RULE}.jwks`, "jwks parse error"],
    ["jwks that is empty", rule({ issuer, jwks: "" }), `${RULE}.jwks`, "jwks parse error"],
    ["jwks without keys", rule({ issuer, jwks: "{}" }), `${RULE}.jwks`, "jwks parse error"],
    ["jwks with no key", rule({ issuer, jwks: keys() }), `${RULE}.jwks`, "no usable key"],
    ["a bare key", rule({ issuer, jwks: JSON.stringify(open) }), `${RULE}.jwks`, 'wrap it: `{"keys":[<the key>]}`'],
    [
      "a symmetric key",
      rule({ issuer, jwks: keys({ kty: "oct", k: "c2VjcmV0" }) }),
      `${RULE}.jwks`,
      "index 0 is symmetric (`oct`), which is rejected",
    ],
    [
      "a symmetric key among others",
      rule({ issuer, jwks: keys(open, { kty: "oct", k: "c2VjcmV0" }) }),
      `${RULE}.jwks`,
      "index 1 is symmetric",
    ],
    [
      "an unusable key",
      rule({ issuer, jwks: keys({ kty: "EC", crv: "P-256", x: "AA", y: "AA" }) }),
      `${RULE}.jwks`,
      "no usable key",
    ],
    ["jwks as an object", rule({ issuer, jwks: { keys: [open] } }), `${RULE}.jwks`, "write the key set as text"],
    [
      "a null header location",
      rule({ issuer, fromHeaders: [null] }),
      `${RULE}.fromHeaders[0]`,
      "location header name must be non-null",
    ],
    [
      "an empty header location",
      rule({ issuer, fromHeaders: [{ name: "" }] }),
      `${RULE}.fromHeaders[0].name`,
      "location header name must be non-empty string",
    ],
    [
      "a header location without name",
      rule({ issuer, fromHeaders: [{ prefix: "x" }] }),
      `${RULE}.fromHeaders[0].name`,
      "`name` is missing",
    ],
    [
      "a header location with a blank",
      rule({ issuer, fromHeaders: [{ name: "a b" }] }),
      `${RULE}.fromHeaders[0].name`,
      "header name a b is not a valid header name",
    ],
    [
      "a header location that is text",
      rule({ issuer, fromHeaders: ["x-token"] }),
      `${RULE}.fromHeaders[0]`,
      "write an object with `name` and `prefix`",
    ],
    [
      "an empty parameter",
      rule({ issuer, fromParams: [""] }),
      `${RULE}.fromParams[0]`,
      "location query must be non-empty string",
    ],
    [
      "an empty cookie",
      rule({ issuer, fromCookies: [""] }),
      `${RULE}.fromCookies[0]`,
      "cookie name must be non-empty string",
    ],
    [
      "a null output claim",
      rule({ issuer, outputClaimToHeaders: [null] }),
      `${RULE}.outputClaimToHeaders[0]`,
      "outputClaimToHeaders must not be null",
    ],
    [
      "an empty output claim",
      rule({ issuer, outputClaimToHeaders: [{ header: "x", claim: "" }] }),
      `${RULE}.outputClaimToHeaders[0].claim`,
      "outputClaimToHeaders header and claim value must be non-empty string",
    ],
    [
      "an empty output header",
      rule({ issuer, outputClaimToHeaders: [{ header: "", claim: "sub" }] }),
      `${RULE}.outputClaimToHeaders[0].header`,
      "outputClaimToHeaders header and claim value must be non-empty string",
    ],
    [
      "an output header with a colon",
      rule({ issuer, outputClaimToHeaders: [{ header: ":authority", claim: "sub" }] }),
      `${RULE}.outputClaimToHeaders[0].header`,
      "header name :authority is not a valid header name",
    ],
    [
      "a payload header with a blank",
      rule({ issuer, outputPayloadToHeader: "a b" }),
      `${RULE}.outputPayloadToHeader`,
      "header name a b is not a valid header name",
    ],
    [
      "a payload header with a line break",
      rule({ issuer, outputPayloadToHeader: "a\r\nb" }),
      `${RULE}.outputPayloadToHeader`,
      "is not a valid header name",
    ],
    [
      "a header that the proxy writes",
      rule({ issuer, outputPayloadToHeader: "X-Forwarded-Client-Cert" }),
      `${RULE}.outputPayloadToHeader`,
      "belongs to HTTP itself or to the proxy",
    ],
    [
      "a header of HTTP itself",
      rule({ issuer, outputClaimToHeaders: [{ header: "Content-Length", claim: "n" }] }),
      `${RULE}.outputClaimToHeaders[0].header`,
      "belongs to HTTP itself",
    ],
    ...(
      [
        ["that is no PEM", "issuer", "is not a list of PEM certificates"],
        ["with text between certificates", `${certificate}\n# the old one\n${certificate}`, "is not a list of PEM"],
        [
          "with a private key",
          certificate.replaceAll("CERTIFICATE", "PRIVATE KEY"),
          "something other than certificates",
        ],
        ["with a broken certificate", `${certificate}\n${certificate.replace("MII", "MIJ")}`, "certificate 2 of"],
      ] as const
    ).map(
      ([what, caBundle, message]): Rejection => [
        `a caBundle ${what}`,
        rule({ issuer, caBundle }),
        `${RULE}.caBundle`,
        message,
      ],
    ),
    [
      "a caBundle beside jwks",
      rule({ issuer, caBundle: certificate, jwks: keys(open) }),
      `${RULE}.caBundle`,
      "`jwks` has the keys",
    ],
    [
      "a caBundle for a URL without TLS",
      rule({ issuer, caBundle: certificate, jwksUri: "http://issuer.example/keys" }),
      `${RULE}.caBundle`,
      "no effect",
    ],
    ["a timeout of zero", rule({ issuer, timeout: "0s" }), `${RULE}.timeout`, "duration must be greater than 1ms"],
    ["a negative timeout", rule({ issuer, timeout: "-5s" }), `${RULE}.timeout`, "duration must be greater than 1ms"],
    [
      "a timeout below a millisecond",
      rule({ issuer, timeout: "999us" }),
      `${RULE}.timeout`,
      "duration must be greater than 1ms",
    ],
    [
      "a timeout between milliseconds",
      rule({ issuer, timeout: "1.5ms" }),
      `${RULE}.timeout`,
      "only durations to ms precision are supported",
    ],
    [
      "a timeout without unit",
      rule({ issuer, timeout: "5" }),
      `${RULE}.timeout`,
      "must be a valid duration greater than 1ms",
    ],
    ["a timeout that is a number", rule({ issuer, timeout: 5 }), `${RULE}.timeout`, "put it in quotes"],
    [
      "an empty space-delimited claim",
      rule({ issuer, spaceDelimitedClaims: [""] }),
      `${RULE}.spaceDelimitedClaims[0]`,
      "must not be empty",
    ],
    [
      "65 space-delimited claims",
      rule({ issuer, spaceDelimitedClaims: Array.from({ length: 65 }, (_, n) => `c${n}`) }),
      `${RULE}.spaceDelimitedClaims`,
      "may not have more than 64 values",
    ],
    ["an unknown presence", rule({ issuer, presence: "REQUIRE" }), `${RULE}.presence`, "did you mean `REQUIRED`?"],
    [
      "a flag in quotes",
      rule({ issuer, forwardOriginalToken: "true" }),
      `${RULE}.forwardOriginalToken`,
      "write true or false, without quotes",
    ],
    [
      "a misspelt field",
      rule({ issuer, jwksUrl: jwksUri }),
      `${RULE}.jwksUrl`,
      "unknown field `jwksUrl`; did you mean `jwksUri`?",
    ],
    ["a null rule", { jwtRules: [null] }, RULE, "is null, not an object"],
    ["a single rule instead of a list", { jwtRules: { issuer } }, "spec.jwtRules", "begin each entry with `-`"],
  ]
  it.each(rejections)("with %s", (_, spec, path, message) => {
    expectError(judge(KIND, spec), path, message)
  })
})

describe("a RequestAuthentication is accepted", () => {
  it.each([
    ["with nothing", {}],
    ["without rules", { jwtRules: [] }],
    ["with an issuer that can be discovered", rule({ issuer })],
    ["with an http jwksUri", rule({ issuer: "testing@secure.istio.io", jwksUri: "http://jwks.foo:8000/keys" })],
    ["with an inline key set", rule({ issuer, jwks: keys(open) })],
    [
      "with an inline key set over several lines",
      rule({ issuer, jwks: JSON.stringify({ keys: [open] }, undefined, 2) }),
    ],
    [
      "with every other field",
      rule({
        issuer,
        jwksUri,
        audiences: ["a"],
        caBundle: `${certificate}\n${certificate}\n`,
        fromHeaders: [{ name: "x-a", prefix: "Bearer " }, { name: "x.b" }],
        fromParams: ["t"],
        fromCookies: ["c"],
        outputPayloadToHeader: "x-p",
        outputClaimToHeaders: [{ header: "x_s", claim: "a.b" }],
        forwardOriginalToken: true,
        timeout: "1m30s",
        spaceDelimitedClaims: ["roles"],
        requireExpiration: true,
        presence: "REQUIRED",
      }),
    ],
    ["with the payload header off", rule({ issuer, outputPayloadToHeader: "" })],
  ])("%s", (_, spec) => {
    expectClean(judge(KIND, spec))
  })

  const warned: readonly Rejection[] = [
    ["no issuer with jwksUri", rule({ jwksUri }), RULE, "a token of any issuer is accepted"],
    ["no issuer with jwks", rule({ jwks: keys(open) }), RULE, "a token of any issuer is accepted"],
    ["an issuer without keys that is no URL", rule({ issuer: "me" }), `${RULE}.issuer`, "add `jwksUri` or `jwks`"],
    [
      "a private key",
      rule({ issuer, jwks: keys(secret) }),
      `${RULE}.jwks`,
      "jwks key at index 0 contains private key material; only public keys are used for verification",
    ],
    [
      "an unusable key among others",
      rule({ issuer, jwks: keys(open, { kty: "X" }) }),
      `${RULE}.jwks`,
      "jwks key at index 1 cannot be used",
    ],
  ]
  it.each(warned)("with a warning about %s", (_, spec, path, message) => {
    expectWarning(judge(KIND, spec), path, message)
  })

  it("with `jwks_uri`, which is read as `jwksUri`", () => {
    const { document } = judge(KIND, rule({ issuer, jwks_uri: jwksUri }))
    expect((document as RequestAuthentication).spec.jwtRules).toEqual([{ issuer, jwksUri }])
  })
})
