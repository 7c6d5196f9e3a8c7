// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { clusterOidcOptions, type OidcValues } from "./oidc-flags.js"

const least: OidcValues = { "oidc-issuer-url": "https://issuer.example", "oidc-client-id": "merlon" }

describe("the flags of an issuer", () => {
  it("are what kube-apiserver takes them for when they are left out", () => {
    expect(clusterOidcOptions(least)).toEqual({
      ...{ issuerUrl: "https://issuer.example", clientId: "merlon", usernameClaim: "sub" },
      ...{ usernamePrefix: "https://issuer.example#", groupsPrefix: "", requiredClaims: new Map() },
      signingAlgorithms: ["RS256"],
    })
    expect(clusterOidcOptions({})).toBeUndefined()
    expect(clusterOidcOptions({ "oidc-required-claim": [], "oidc-signing-algs": [] })).toBeUndefined()
  })

  it.each<[string, OidcValues, string]>([
    ["an email is unique by itself", { "oidc-username-claim": "email" }, ""],
    ["any other claim is not", { "oidc-username-claim": "name" }, "https://issuer.example#"],
    ["a hyphen takes it away", { "oidc-username-prefix": "-" }, ""],
    [
      "what is given stands, also before an email",
      { "oidc-username-claim": "email", "oidc-username-prefix": "x:" },
      "x:",
    ],
  ])("put before a name: %s", (_, more, want) => {
    expect(clusterOidcOptions({ ...least, ...more })?.usernamePrefix).toBe(want)
  })

  it("name several required claims, and values with an equals sign", () => {
    const values = { ...least, "oidc-required-claim": ["a=1", "b=x=y"] }
    expect([...(clusterOidcOptions(values)?.requiredClaims ?? [])]).toEqual([
      ["a", "1"],
      ["b", "x=y"],
    ])
  })

  it.each<[string, OidcValues, RegExp]>([
    ["an issuer in the clear", { "oidc-issuer-url": "http://issuer.example" }, /write it as https:/],
    ["an issuer with a query", { "oidc-issuer-url": "https://issuer.example?a" }, /is no issuer/],
    ["the cluster as its own issuer", { "oidc-issuer-url": "https://kubernetes.default.svc" }, /this cluster itself/],
    ["no client", { "oidc-client-id": undefined }, /add --oidc-client-id/],
    ["no issuer", { "oidc-issuer-url": undefined }, /`--oidc-client-id` needs an issuer/],
    ["a shared secret", { "oidc-signing-algs": ["HS256"] }, /`--oidc-signing-algs HS256` is not one of RS256/],
    ["no signature", { "oidc-signing-algs": ["RS256,none"] }, /`--oidc-signing-algs none` is not one of/],
    ["a claim without a value", { "oidc-required-claim": ["tenant"] }, /write it as claim=value/],
    ["no file of certificates", { "oidc-ca-file": "/nowhere" }, /`--oidc-ca-file \/nowhere` cannot be used/],
  ])("are rejected with %s", (_, more, words) => {
    expect(() => clusterOidcOptions({ ...least, ...more })).toThrow(words)
  })
})
