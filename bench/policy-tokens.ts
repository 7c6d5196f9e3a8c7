// SPDX-License-Identifier: Apache-2.0
// The cost of a token: remembered, and with its signature verified, as a proxy without a cache does each time.

import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { authenticate, compileTokenRules, type RequestAuthentication, TokenMemory } from "@merlon/policy"
import { SignJWT } from "jose"
import { measure } from "./measure.js"

const NOW = 1_800_000_000
const ISSUER = "https://issuer.example"

const KEYS: Readonly<Record<string, () => { publicKey: KeyObject; privateKey: KeyObject }>> = {
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: () => generateKeyPairSync("ed25519"),
}

export interface TokenCost {
  readonly algorithm: string
  readonly bytes: number
  readonly remembered: number
  readonly checked: number
}

export async function tokenCosts(): Promise<readonly TokenCost[]> {
  const costs: TokenCost[] = []
  for (const [algorithm, generate] of Object.entries(KEYS)) {
    const { publicKey, privateKey } = generate()
    const token = await new SignJWT({ groups: ["group1", "group2"], scope: "read write", email: "alice@example.com" })
      .setProtectedHeader({ alg: algorithm, kid: "key-1" })
      .setIssuer(ISSUER)
      .setSubject("alice")
      .setIssuedAt(NOW)
      .setExpirationTime(NOW + 3_600)
      .sign(privateKey)
    const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "key-1", alg: algorithm }] })
    costs.push({
      algorithm,
      bytes: token.length,
      remembered: cost(jwks, token, 500, new TokenMemory()),
      checked: cost(jwks, token, 20, undefined),
    })
  }
  return costs
}

function cost(jwks: string, token: string, batch: number, memory: TokenMemory | undefined): number {
  const policy: RequestAuthentication = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "RequestAuthentication",
    metadata: { name: "jwt", namespace: "foo" },
    spec: { jwtRules: [{ issuer: ISSUER, jwks }] },
  }
  const program = compileTokenRules([policy], () => undefined)
  const request = { method: "GET", scheme: "http", host: "httpbin.foo", target: "/get" }
  return measure({
    batch,
    // A new string each time, as from a socket: a string whose hash is cached would make the figures too good.
    prepare: () =>
      Array.from({ length: batch }, () => {
        const line = Buffer.from(`Bearer ${token}`, "latin1").toString("latin1")
        return { ...request, headers: new Map([["authorization", [line]]]) }
      }),
    run(requests) {
      for (const each of requests) {
        if (authenticate(program, each, NOW, memory).outcome !== "pass") throw new Error("rejected")
      }
    },
  }).nanoseconds
}
