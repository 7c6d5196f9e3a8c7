// SPDX-License-Identifier: Apache-2.0
// Certificates, keys, tokens and policies that all proxies of the benchmark share.

import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SignJWT } from "jose"
import { Authority, GOOD_ID, OWN_ID } from "../../packages/xserver/src/accept/testing/certificates.js"

/** The identities of caller and server. */
export const CALLER_ID = GOOD_ID
export const SERVER_ID = OWN_ID
export const ISSUER = "https://issuer.example"
export const MAX_TOKENS = 10_000
const RULES_PER_POLICY = 500

export interface Material {
  readonly folder: string
  readonly tokens: readonly string[]
}

export async function makeMaterial(): Promise<Material> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text, { mode: 0o600 })
  const authority = new Authority()
  const server = authority.issue({ uris: [OWN_ID] })
  const client = authority.issue({ uris: [GOOD_ID] })
  put("ca.pem", authority.certificate)
  put("server.pem", server.certificate)
  put("server.key", server.privateKey)
  put("server-both.pem", server.certificate + server.privateKey)
  put("client.pem", client.certificate)
  put("client.key", client.privateKey)
  put("client-both.pem", client.certificate + client.privateKey)

  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  put("jwt.pub.pem", publicKey.export({ type: "spki", format: "pem" }).toString())
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "key-1", alg: "RS256" }
  const jwks = JSON.stringify({ keys: [jwk] })
  put("jwks.json", jwks)
  put("request-authentication.json", JSON.stringify(requestAuthentication(jwks)))
  for (const rules of [0, 10, 10_000]) {
    for (const [n, policy] of authorizationPolicies(rules).entries())
      put(`rules-${rules}-${n}.json`, JSON.stringify(policy))
  }

  const now = Math.floor(Date.now() / 1_000)
  const mint = (n: number): Promise<string> =>
    new SignJWT({ role: "group1", n })
      .setProtectedHeader({ alg: "RS256", kid: "key-1" })
      .setIssuer(ISSUER)
      .setSubject("alice")
      .setExpirationTime(now + 24 * 3_600)
      .sign(privateKey)
  const tokens: string[] = []
  for (let n = 0; n < MAX_TOKENS; n++) tokens.push(await mint(n))
  return { folder, tokens }
}

export const document = (kind: string, name: string, spec: unknown): unknown => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind,
  metadata: { name, namespace: "bench" },
  spec,
})

const requestAuthentication = (jwks: string): unknown =>
  document("RequestAuthentication", "jwt", { jwtRules: [{ issuer: ISSUER, jwks }] })

/** The rule that matches, after `others` that do not. */
function authorizationPolicies(others: number): readonly unknown[] {
  const rules: unknown[] = Array.from({ length: others }, (_, n) => ({
    from: [{ source: { requestPrincipals: [`${ISSUER}/user-${n}`] } }],
    to: [{ operation: { paths: [`/service-${n}*`] } }],
  }))
  rules.push({
    from: [{ source: { requestPrincipals: [`${ISSUER}/alice`] } }],
    when: [{ key: "request.auth.claims[role]", values: ["group1"] }],
  })
  const policies: unknown[] = []
  for (let n = 0; n < rules.length; n += RULES_PER_POLICY) {
    policies.push(document("AuthorizationPolicy", `rules-${n}`, { rules: rules.slice(n, n + RULES_PER_POLICY) }))
  }
  return policies
}

/** The files that `makeMaterial` has written for this number of rules. */
export function ruleFiles(rules: number): readonly string[] {
  return Array.from({ length: Math.ceil((rules + 1) / RULES_PER_POLICY) }, (_, n) => `rules-${rules}-${n}.json`)
}
