// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { clusterOidcOptions, type OidcValues } from "./oidc-flags.js"

const least: OidcValues = { "oidc-issuer-url": "https://issuer.example", "oidc-client-id": "merlon" }

describe("the flags of an issuer", () => {
  it("have the defaults of kube-apiserver", () => {
    expect(clusterOidcOptions(least)).toEqual({
      ...{ issuerUrl: "https://issuer.example", clientId: "merlon", usernameClaim: "sub" },
      ...{ usernamePrefix: "https://issuer.example#", groupsPrefix: "", requiredClaims: new Map() },
      signingAlgorithms: ["RS256"],
    })
    expect(clusterOidcOptions({})).toBeUndefined()
    expect(clusterOidcOptions({ "oidc-required-claim": [], "oidc-signing-algs": [] })).toBeUndefined()
  })

  it.each<[string, OidcValues, string]>([
    ["an email without a prefix", { "oidc-username-claim": "email" }, ""],
    ["any other claim with the issuer", { "oidc-username-claim": "name" }, "https://issuer.example#"],
    ["a hyphen removes the prefix", { "oidc-username-prefix": "-" }, ""],
    [
      "an explicit prefix applies to emails too",
      { "oidc-username-claim": "email", "oidc-username-prefix": "x:" },
      "x:",
    ],
  ])("set the prefix of names: %s", (_, more, want) => {
    expect(clusterOidcOptions({ ...least, ...more })?.usernamePrefix).toBe(want)
  })

  it("accept several required claims, and values with an equals sign", () => {
    const values = { ...least, "oidc-required-claim": ["a=1", "b=x=y"] }
    expect([...(clusterOidcOptions(values)?.requiredClaims ?? [])]).toEqual([
      ["a", "1"],
      ["b", "x=y"],
    ])
  })

  it.each<[string, OidcValues, RegExp]>([
    ["an issuer without TLS", { "oidc-issuer-url": "http://issuer.example" }, /write it as https:/],
    ["an issuer with a query", { "oidc-issuer-url": "https://issuer.example?a" }, /is not an issuer URL/],
    ["the cluster as its own issuer", { "oidc-issuer-url": "https://kubernetes.default.svc" }, /this cluster itself/],
    ["an issuer but no client", { "oidc-client-id": undefined }, /add --oidc-client-id/],
    ["a client but no issuer", { "oidc-issuer-url": undefined }, /`--oidc-client-id` needs an issuer/],
    [
      "an algorithm with a shared secret",
      { "oidc-signing-algs": ["HS256"] },
      /`--oidc-signing-algs HS256` is not one of RS256/,
    ],
    [
      "an algorithm without a signature",
      { "oidc-signing-algs": ["RS256,none"] },
      /`--oidc-signing-algs none` is not one of/,
    ],
    ["a claim without a value", { "oidc-required-claim": ["tenant"] }, /write it as claim=value/],
    ["a CA file that does not exist", { "oidc-ca-file": "/nowhere" }, /`--oidc-ca-file \/nowhere` cannot be used/],
  ])("are rejected with %s", (_, more, words) => {
    expect(() => clusterOidcOptions({ ...least, ...more })).toThrow(words)
  })
})
