// SPDX-License-Identifier: Apache-2.0
// Policies of which a proof is easily wrong: each differs, or breaks its invariant, in one narrow place.

import { meshConfig } from "../../packages/policy/src/mesh/config.js"
import { diffSets } from "../../packages/policy/src/proof/questions/diff.js"
import { checkInvariants } from "../../packages/policy/src/proof/questions/invariants.js"
import type { Operation, Rule } from "../../packages/policy/src/resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../packages/policy/src/resources/document.js"
import type { JwtRule } from "../../packages/policy/src/resources/request-authentication/definition.js"
import { certificateOf, type Sides } from "./certified.js"

export interface Example {
  readonly name: string
  readonly sides: Sides
}

const mesh = meshConfig()
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
const addresses = (...ipBlocks: readonly string[]): Rule => ({ from: [{ source: { ipBlocks: [...ipBlocks] } }] })
const letters = "abcdefghi".split("")

/** Also one without a subject, or with an empty one. */
const WITH_TOKEN: readonly Rule[] = [
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { when: [when("request.auth.claims[iss]", ["i"]), when("request.auth.claims[sub]", undefined, ["*"])] },
]

const ALTERNATIVES: readonly Rule[] = [
  to({ paths: ["/a"] }, { paths: ["/b"] }, { paths: ["/c"] }, { paths: ["/d"] }),
  { ...paths("/d*"), when: [header("v1")] },
]

export const EXAMPLES: readonly Example[] = [
  { name: "one more path", sides: [[allow(paths("/a"))], [allow(paths("/a", "/q"))]] },
  {
    name: "all paths that no other pattern names",
    sides: [
      [allow(paths("/", ...letters.map(one => `/${one}*`)))],
      [allow(paths("/", "/{*}", ...letters.map(one => `/${one}*`)))],
    ],
  },
  { name: "one address", sides: [[allow(addresses("10.0.1.0/24"))], [allow(addresses("10.0.1.0/24", "10.0.0.5"))]] },
  {
    name: "the seventh port",
    sides: [
      [allow(to({ ports: ["1", "2", "3", "4", "5", "6"] }))],
      [allow(to({ ports: ["1", "2", "3", "4", "5", "6", "7"] }))],
    ],
  },
  {
    name: "requests without a host",
    sides: [[allow(to({ notHosts: ["a", "b", "c"] }))], [allow(to({ hosts: ["*"], notHosts: ["a", "b", "c"] }))]],
  },
  {
    name: "a prefix among many suffixes",
    sides: [
      [allow({}), deny(...letters.map(one => to({ methods: ["PUT"], paths: [`*${one}`] })))],
      [allow({}), deny(...letters.map(one => to({ methods: ["PUT"], paths: [`*${one}`] })), paths("/z*"))],
    ],
  },
  {
    name: "three lines of one header",
    sides: [[allow(paths("/a"))], [allow(paths("/a"), { when: [header("v1"), header("v2"), header("v3")] })]],
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
    name: "the fourth alternative",
    sides: [
      [allow(...ALTERNATIVES), deny({ when: [header("v1")] })],
      [allow(...ALTERNATIVES), deny({ when: [header("v1")] }, paths("/d"))],
    ],
  },
  {
    name: "two lines of one header, by two rules",
    sides: [
      [allow({ when: [header("v2")] })],
      [allow({ when: [header("v2")] }), deny({ when: [header("v1")], ...to({ methods: ["GET"] }) })],
    ],
  },
  {
    name: "a rule that another one covers but for its path",
    sides: [
      [allow({ from: [{ source: { namespaces: ["x"] } }], ...to({ methods: ["GET"], paths: ["/a*"] }) })],
      [
        allow(
          { from: [{ source: { namespaces: ["x"] } }], ...to({ methods: ["GET"], paths: ["/a*"] }) },
          ...["/a1", "/a2", "/a3", "/a4"].map(path => ({
            from: [{ source: { namespaces: ["x"] } }],
            ...to({ methods: ["GET"], paths: [path] }),
          })),
          { from: [{ source: { namespaces: ["x"] } }], ...to({ methods: ["GET"] }) },
        ),
      ],
    ],
  },
  {
    name: "preflights",
    sides: [
      [tokens({ issuer: "i", presence: "REQUIRED" }), allow(...WITH_TOKEN)],
      [
        tokens({ issuer: "i", presence: "REQUIRED" }),
        allow(...WITH_TOKEN, { from: [{ source: { notRequestPrincipals: ["*"] } }] }),
      ],
    ],
  },
  {
    name: "TCP connections in plaintext",
    sides: [
      [allow(to({ methods: ["*"] }), { from: [{ source: { namespaces: ["*"] } }] })],
      [allow(to({ methods: ["*"] }), { from: [{ source: { namespaces: ["*"] } }] }, to({ ports: ["80"] }))],
    ],
  },
  { name: "an ALLOW policy without rules", sides: [[deny(paths("/a"))], [deny(paths("/a")), allow()]] },
  {
    name: "a rule that is denied too",
    sides: [
      [allow(paths("/a")), deny(paths("/b"))],
      [allow(paths("/a")), deny(paths("/b"), paths("/a"))],
    ],
  },
  {
    name: "the fifth path of a rule",
    sides: [
      [allow(paths("/a", "/b", "/c", "/d", "/e"))],
      [allow(paths("/a", "/b", "/c", "/d", "/e")), deny(paths("/e"))],
    ],
  },
  {
    name: "a workload that takes mTLS alone",
    sides: [[], [document("PeerAuthentication", "mode", { mtls: { mode: "STRICT" as const } })]],
  },
  {
    name: "the third of three rules",
    sides: [[allow(paths("/a*"))], [allow(paths("/a*"), paths("/a1"), paths("/a2"), paths("/b"))]],
  },
  {
    name: "tokens that do not expire",
    sides: [[tokens({ audiences: ["a"] })], [tokens({ audiences: ["a"], requireExpiration: true })]],
  },
  { name: "OPTIONS *", sides: [[allow(paths("/*"))], [allow(paths("/", "/{*}", "/{*}/{**}"))]] },
  {
    name: "an invariant that the mTLS mode breaks",
    sides: [
      [
        document("PeerAuthentication", "mode", { mtls: { mode: "DISABLE" as const } }),
        document("PolicyInvariant", "i", {
          always: [{ name: "s", from: [{ source: { principals: ["cluster.local/ns/a/sa/a"] } }], ...paths("/a") }],
        }),
      ],
    ],
  },
]

/** What the proofs write about it; undefined where nothing. */
export function certified({ sides }: Example): string | undefined {
  const [before = [], after] = sides
  return certificateOf(sides, mesh, certificate => {
    if (after !== undefined) diffSets(before, after, [workload], mesh, { ...OPTIONS, comparisons: certificate })
    else {
      const invariants = before.filter(one => one.kind === "PolicyInvariant")
      checkInvariants(invariants, before, [workload], mesh, { ...OPTIONS, verdicts: certificate })
    }
  })
}
