// SPDX-License-Identifier: Apache-2.0
// Headers in every spelling, on the wire and as `explain` and policy tests judge them: both give the same status, and a
// rule reads under a name what the application receives under it.

import { generateKeyPairSync } from "node:crypto"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { Trial } from "@merlon/policy/trial"
import fc from "fast-check"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { type RawClient, Rig, WORKLOAD } from "./testing/rig.js"

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] })
const mint = (claims: object) =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey)

let rig: Rig
let client: RawClient
let token = ""
beforeAll(async () => {
  token = await mint({ iss: "me", sub: "zoe", tier: "gold" })
  rig = await Rig.start({
    application: (incoming, reply) => {
      const body = JSON.stringify(incoming.rawHeaders)
      reply.setHeader("content-length", Buffer.byteLength(body)).end(body)
    },
  })
  client = await rig.client()
})
afterAll(() => rig.stop())

const pick = <T>(...values: T[]) => fc.constantFrom(...values)

const NAMES = [
  ...["x-sub", "x_flat", "x-tier", "x-payload", "x-jwt", "x-jwt-two", "authorization", "cookie", "x-plain"],
  ...["x-forwarded-proto", "x-forwarded-client-cert", "x-merlon-tier", "x-request-id", "proxy-thing"],
]
const spelling = fc.record({ signs: fc.array(pick("-", "_", "."), { maxLength: 4 }), upper: fc.nat() })
/** A few spellings of one name, with other separators and other cases, for the rule, the caller and `Connection`. */
const spellings: fc.Arbitrary<readonly string[]> = fc
  .tuple(pick(...NAMES), fc.array(spelling, { minLength: 2, maxLength: 2 }))
  .map(([name, others]) => [name, ...others.map(({ signs, upper }) => respelled(name, signs, upper))])

function respelled(name: string, signs: readonly string[], upper: number): string {
  let at = 0
  const signed = name.replace(/[-_]/g, sign => signs[at++] ?? sign)
  return Array.from(signed, (letter, index) => ((upper >> (index % 30)) & 1 ? letter.toUpperCase() : letter)).join("")
}

const tokens = fc
  .record(
    {
      fromHeaders: pick([{ name: "X-Jwt" }], [{ name: "x-jwt" }, { name: "Authorization", prefix: "Bearer " }]),
      fromCookies: pick(["jwt"]),
      outputClaimToHeaders: pick([{ header: "X-Sub", claim: "sub" }], [{ header: "x_flat", claim: "tier" }]),
      outputPayloadToHeader: pick("X-Payload"),
      forwardOriginalToken: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map(rule => ({ issuer: "me", jwks, ...rule }))
interface Case {
  /** The header that the rule reads. */
  readonly name: string
  readonly documents: readonly PolicyDocument[]
  readonly lines: readonly (readonly [name: string, value: string])[]
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    names: spellings,
    rules: fc.array(tokens, { maxLength: 2 }),
    action: pick("ALLOW", "DENY"),
    values: pick(["*"], ["v"], ["zoe"], ["http"], ["gold", "v*"]),
    reads: fc.nat(),
    lines: fc.array(fc.tuple(fc.nat(), pick("v", "zoe", "https", "token", "Bearer token", "jwt=token; a=b")), {
      maxLength: 3,
    }),
    bearer: fc.option(pick("Authorization: Bearer token", "x-jwt: token", "cookie: a=b; jwt=token")),
    nominated: fc.option(fc.nat()),
  })
  .map(({ names, rules, action, values, reads, lines, bearer, nominated }) => {
    const at = (index: number): string => names[index % names.length] ?? ""
    const about = { apiVersion: "security.merlon.dev/v1alpha3", metadata: { name: "p", namespace: "foo" } } as const
    const when = [{ key: `request.headers[${at(reads)}]`, values }]
    return {
      name: at(reads).toLowerCase(),
      documents: [
        { ...about, kind: "RequestAuthentication", spec: { jwtRules: rules } },
        { ...about, kind: "AuthorizationPolicy", spec: { action, rules: [{ when }] } },
      ] as PolicyDocument[], // the schema accepts all generated rules
      lines: [
        ...lines.map(([index, value]) => [at(index), value] as const),
        ...(bearer === null ? [] : [[bearer.split(": ")[0] ?? "", bearer.split(": ")[1] ?? ""] as const]),
        ...(nominated === null ? [] : [["Connection", at(nominated)] as const]),
      ],
    }
  })

/** The proxy adds to these headers, or generates them, after the decision. */
const WRITTEN_LATER = new Set(["x-request-id"])

it("have the same result for every spelling, token and nomination", { timeout: 120_000 }, async () => {
  const seen = { allow: 0, deny: 0, depends: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async ({ documents, name, lines }) => {
      rig.enforce(...documents)
      const headers: Record<string, string[]> = {}
      for (const [field, value] of lines) {
        headers[field] = [...(headers[field] ?? []), value.replace("token", token)]
      }
      const answer = new Trial(documents, WORKLOAD, meshConfig(), Date.now() / 1000, () => undefined).ask({ headers })
      const text = Object.entries(headers)
        .flatMap(([field, values]) => values.map(value => `${field}: ${value}\r\n`))
        .join("")
      const response = await client.send(`GET / HTTP/1.1\r\nHost: app-1.foo\r\n${text}\r\n`).response()
      seen[answer.verdict]++
      expect(Number(response.slice(9, 12))).toBe(answer.status ?? 200)
      if (answer.verdict === "deny" || WRITTEN_LATER.has(name) || name.startsWith("proxy-")) return
      const arrived: string[] = JSON.parse(response.slice(response.indexOf("\r\n\r\n") + 4))
      const values = arrived.flatMap((field, at) =>
        at % 2 === 0 && field.toLowerCase() === name ? [arrived[at + 1]] : [],
      )
      expect(values).toEqual(answer.attributes?.http?.headers.get(name) ?? [])
    }),
    { numRuns: 300 * inject("effort") },
  )
  expect(Math.min(seen.allow, seen.deny)).toBeGreaterThan(0)
})
