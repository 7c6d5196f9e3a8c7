// SPDX-License-Identifier: Apache-2.0
// Policies that are easy to get wrong in a proof: each pair differs, or breaks its invariant, in one narrow place.

import { meshConfig, type PathNormalization } from "../../packages/policy/src/mesh/config.js"
import { diffSets } from "../../packages/policy/src/proof/questions/diff.js"
import { checkInvariants } from "../../packages/policy/src/proof/questions/invariants.js"
import type { Operation, Rule } from "../../packages/policy/src/resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../packages/policy/src/resources/document.js"
import type { JwtRule } from "../../packages/policy/src/resources/request-authentication/definition.js"
import { certificateOf, type Sides } from "./certified.js"

export interface Example {
  readonly name: string
  readonly sides: Sides
  readonly paths?: PathNormalization
}

const workload = { namespace: "foo", name: "web", labels: {} }
const OPTIONS = { limits: { steps: 1_000_000 }, now: 1_000 }

const document = <K extends PolicyDocument["kind"], S>(kind: K, name: string, spec: S) => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind,
  metadata: { name, namespace: "foo" },
  spec,
})
const allow = (...rules: readonly Rule[]) => document("AuthorizationPolicy", "allow", { rules: [...rules] })
const deny = (...rules: readonly Rule[]) =>
  document("AuthorizationPolicy", "deny", { action: "DENY" as const, rules: [...rules] })
const tokens = (rule: JwtRule = {}) =>
  document("RequestAuthentication", "jwt", { jwtRules: [{ jwksUri: "https://issuer.example/keys", ...rule }] })
const to = (...operations: readonly Operation[]): Rule => ({ to: operations.map(operation => ({ operation })) })
const paths = (...all: readonly string[]): Rule => to({ paths: [...all] })
const when = (key: string, values?: readonly string[], notValues?: readonly string[]) => ({
  key,
  ...(values && { values: [...values] }),
  ...(notValues && { notValues: [...notValues] }),
})
const header = (value: string) => when("request.headers[x]", [value])
const long = (value: string) => when("request.headers[x-the-name-of-a-team]", [value])
const ports = Array.from({ length: 20 }, (_, at) => String(at + 1))
const FOUR = ["a", "b", "c", "d"].map(name => when(`request.headers[${name}]`, ["v"]))
const FIVE = [...FOUR, header("v")]
const PLACES = ["a", "b", "c", "d", "e", "f"].map(name => ({ name: `x-token-${name}` }))
const addresses = (...ipBlocks: readonly string[]): Rule => ({ from: [{ source: { ipBlocks: [...ipBlocks] } }] })
const letters = "abcdefghijklmnoprstuvwxyz0123456789".split("")

/** Includes tokens with an empty subject or none. */
const WITH_TOKEN: readonly Rule[] = [
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { when: [when("request.auth.claims[iss]", ["i"]), when("request.auth.claims[sub]", undefined, ["*"])] },
]

const ALTERNATIVES: readonly Rule[] = [
  to(...letters.map(one => ({ paths: [`/${one}`] }))),
  { ...paths("/9*"), when: [header("v1")] },
]

const required = tokens({ issuer: "i", presence: "REQUIRED", fromHeaders: PLACES })

const byPort = document("PeerAuthentication", "ports", {
  portLevelMtls: Object.fromEntries(ports.map(port => [port, { mode: "PERMISSIVE" as const }])),
})

export const EXAMPLES: readonly Example[] = [
  { name: "one more path", sides: [[allow(paths("/a"))], [allow(paths("/a", "/q"))]] },
  {
    name: "all paths that no other pattern names",
    sides: [
      [allow(paths("/", ...letters.map(one => `/${one}*`)))],
      [allow(paths("/", "/{*}", ...letters.map(one => `/${one}*`)))],
    ],
  },
  { name: "one address", sides: [[allow(addresses("10.0.1.0/24"))], [allow(addresses("10.0.1.0/24", "10.0.0.77"))]] },
  {
    name: "one more port than many",
    sides: [[allow(to({ ports: [...ports] }))], [allow(to({ ports: [...ports, "99"] }))]],
  },
  {
    name: "requests without a host",
    sides: [[allow(to({ notHosts: [...letters] }))], [allow(to({ hosts: ["*"], notHosts: [...letters] }))]],
  },
  {
    name: "a prefix among many suffixes",
    sides: [
      [allow({}), deny(...letters.map(one => to({ methods: ["PUT"], paths: [`*${one}`] })))],
      [allow({}), deny(...letters.map(one => to({ methods: ["PUT"], paths: [`*${one}`] })), paths("/z*"))],
    ],
  },
  {
    name: "five lines of one header",
    sides: [[allow(paths("/a"))], [allow(paths("/a"), { when: ["v1", "v2", "v3", "v4", "v5"].map(header) })]],
  },
  {
    name: "more than many rules",
    sides: [
      [
        allow(
          ...letters.map(one => to({ methods: ["GET"], paths: [`/a${one}*`, `/b${one}*`] })),
          ...letters.map(one => to({ methods: ["PUT"], paths: [`/a${one}*`] })),
        ),
      ],
      [
        allow(
          ...letters.map(one => to({ methods: ["GET"], paths: [`/a${one}*`, `/b${one}*`] })),
          ...letters.map(one => to({ methods: ["PUT"], paths: [`/a${one}*`] })),
          paths("/a*"),
        ),
      ],
    ],
  },
  {
    name: "the last of many alternatives",
    sides: [
      [allow(...ALTERNATIVES), deny({ when: [header("v1")] })],
      [allow(...ALTERNATIVES), deny({ when: [header("v1")] }, paths("/9"))],
    ],
  },
  {
    name: "two lines of one header, by two rules",
    sides: [
      [allow({ when: [long("v2")] })],
      [allow({ when: [long("v2")] }), deny({ when: [long("v1")], ...to({ methods: ["GET"] }) })],
    ],
  },
  {
    name: "a rule that another one covers but for a header",
    sides: [
      [allow({ ...to({ methods: ["GET"] }), when: FIVE })],
      [
        allow(
          { ...to({ methods: ["GET"] }), when: FIVE },
          ...["/a1", "/a2", "/a3", "/a4"].map(path => ({ ...to({ methods: ["GET"], paths: [path] }), when: FIVE })),
          { ...to({ methods: ["GET"] }), when: FOUR },
        ),
      ],
    ],
  },
  {
    name: "preflights",
    sides: [
      [required, allow(...WITH_TOKEN)],
      [required, allow(...WITH_TOKEN, { from: [{ source: { notRequestPrincipals: ["*"] } }] })],
    ],
  },
  {
    name: "TCP connections in plaintext",
    sides: [
      [required, allow(to({ methods: ["*"] }), { from: [{ source: { namespaces: ["*"] } }] })],
      [required, allow(to({ methods: ["*"] }), { from: [{ source: { namespaces: ["*"] } }] }, to({ ports: ["80"] }))],
    ],
  },
  {
    name: "an ALLOW policy without rules",
    sides: [
      [deny(paths("/a")), byPort],
      [deny(paths("/a")), byPort, allow()],
    ],
  },
  {
    name: "a rule that is denied too",
    sides: [
      [allow({ ...paths("/a"), when: FOUR }), deny(paths("/b"))],
      [allow({ ...paths("/a"), when: FOUR }), deny(paths("/b"), { ...paths("/a"), when: FOUR })],
    ],
  },
  {
    name: "the last path of a rule",
    sides: [
      [allow(paths(...letters.map(one => `/${one}`)))],
      [allow(paths(...letters.map(one => `/${one}`))), deny(paths("/9"))],
    ],
  },
  {
    name: "a workload that takes mTLS alone",
    sides: [
      [allow(...letters.map(one => paths(`/${one}`)))],
      [
        allow(...letters.map(one => paths(`/${one}`))),
        document("PeerAuthentication", "mode", { mtls: { mode: "STRICT" as const } }),
      ],
    ],
  },
  {
    name: "the last of many rules",
    sides: [[allow(paths("/a*"))], [allow(paths("/a*"), ...letters.map(one => paths(`/a${one}`)), paths("/b"))]],
  },
  {
    name: "tokens that do not expire",
    sides: [[tokens({ audiences: ["a", "b"] })], [tokens({ audiences: ["a", "b"], requireExpiration: true })]],
  },
  {
    name: "OPTIONS *",
    paths: "DECODE_AND_MERGE_SLASHES",
    sides: [[allow(paths("/*"))], [allow(paths("/", "/{*}", "/{*}/{**}"))]],
  },
  {
    name: "an invariant that the mTLS mode breaks",
    sides: [
      [
        document("PeerAuthentication", "mode", { mtls: { mode: "DISABLE" as const } }),
        document("PolicyInvariant", "i", {
          always: [
            { name: "s", from: [{ source: { principals: ["cluster.local/ns/a/sa/a"] } }], ...paths("/a"), when: FOUR },
          ],
        }),
      ],
    ],
  },
]

/** Returns the certificate that the proofs write for the example; undefined if none. */
export function certified({ sides, paths: pathNormalization }: Example): string | undefined {
  const mesh = meshConfig({ ...(pathNormalization && { pathNormalization }) })
  const [before = [], after] = sides
  return certificateOf(sides, mesh, certificate => {
    if (after !== undefined) diffSets(before, after, [workload], mesh, { ...OPTIONS, comparisons: certificate })
    else {
      const invariants = before.filter(one => one.kind === "PolicyInvariant")
      checkInvariants(invariants, before, [workload], mesh, { ...OPTIONS, verdicts: certificate })
    }
  })
}
