// SPDX-License-Identifier: Apache-2.0
// Generates token rules with every field, rules that read the headers they write, remove or keep, and requests with
// several signed tokens in headers of several spellings. A proof about the sets must agree with `judge` on the requests.

import fc from "fast-check"
import { type Connection, type HttpRequest, judge } from "../../judge.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { Program } from "../../program.js"
import type { Claim } from "../../request/attributes.js"
import { parseIp } from "../../request/ip.js"
import { parseSpiffeId } from "../../request/spiffe-id.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  RequestAuthentication,
} from "../../resources/document.js"
import type { JwtRule } from "../../resources/request-authentication/definition.js"
import type { Outcome } from "../outcome.js"
import { signedToken } from "../replay-keys.js"
import { keysOf } from "../token-rules.js"

export const NOW = 1_700_000_000
const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const KEYS = ["https://a.example/keys", "https://b.example/keys"]

const jwtRules: fc.Arbitrary<JwtRule> = fc.record(
  {
    issuer: pick("a", "b"),
    jwksUri: pick(...KEYS),
    audiences: pick(["api"], ["https://api/"], ["other"]),
    presence: pick("REQUIRED", "OPTIONAL"),
    requireExpiration: fc.boolean(),
    fromHeaders: pick<NonNullable<JwtRule["fromHeaders"]>>(
      [{ name: "x-token" }],
      [{ name: "X-Token" }, { name: "x-two" }],
      [{ name: "x-token", prefix: "T " }],
      [{ name: "Authorization", prefix: "Bearer " }],
      [{ name: "X-Forwarded-Proto" }, { name: "origin", prefix: "T " }],
      [{ name: "cookie" }, { name: "x-forwarded-for" }],
    ),
    fromParams: pick(["access_token"], ["t"]),
    fromCookies: pick(["t"], ["t", "u"]),
    outputClaimToHeaders: pick<NonNullable<JwtRule["outputClaimToHeaders"]>>(
      [{ header: "x-out", claim: "g" }],
      [{ header: "X-Out", claim: "sub" }],
      [{ header: "x-more", claim: "g" }],
      [
        { header: "x-out", claim: "h.i" },
        { header: "x-token", claim: "g" },
      ],
      [
        { header: "x-forwarded-proto", claim: "g" },
        { header: "origin", claim: "g" },
      ],
      [
        { header: "cookie", claim: "g" },
        { header: "x_out", claim: "g" },
      ],
    ),
    outputPayloadToHeader: pick("x-out", "x-payload", "X-Forwarded-Client-Cert"),
    forwardOriginalToken: fc.boolean(),
    spaceDelimitedClaims: pick(["g"], ["unread"]),
  },
  { requiredKeys: ["jwksUri"] },
) as fc.Arbitrary<JwtRule> // fast-check knows no exact optional types

const HEADERS = ["x-out", "X_Out", "x-token", "x_token", "authorization", "cookie", ":path", "x-payload", "x-more"]
const OTHERS = ["x-forwarded-proto", "x-forwarded-client-cert", "x-merlon-tier", "origin", "x-two", "x-forwarded-for"]
const header = fc
  .record({
    name: fc.oneof({ weight: 3, arbitrary: pick(...HEADERS) }, { weight: 1, arbitrary: pick(...OTHERS) }),
    values: pick(["v"], ["*"], ["v", "s"], ["http*"], ["/*"]),
    negated: fc.boolean(),
  })
  .map(({ name, values, negated }) => ({
    key: `request.headers[${name}]`,
    ...(negated ? { notValues: values } : { values }),
  }))
const other = pick<Rule>(
  {},
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { from: [{ source: { requestPrincipals: ["a/*"] } }] },
  { from: [{ source: { notRequestPrincipals: ["a/*"] } }] },
  { from: [{ source: { namespaces: ["a"] } }] },
  { from: [{ source: { remoteIpBlocks: ["10.0.0.0/24"] } }] },
  { when: [{ key: "request.auth.audiences", values: ["api"] }] },
  { when: [{ key: "request.auth.claims[g]", values: ["v"] }] },
  { when: [{ key: "request.auth.claims[h][i]", values: ["v"] }] },
  { to: [{ operation: { methods: ["OPTIONS"] } }] },
  { to: [{ operation: { hosts: ["web.foo"], paths: ["/a"] } }] },
  { to: [{ operation: { ports: ["8080"] } }] },
)
export const rules: fc.Arbitrary<Rule> = fc
  .record({ rule: other, when: fc.array(header, { maxLength: 2 }) })
  .map(({ rule, when }) => (when.length === 0 ? rule : { ...rule, when: [...(rule.when ?? []), ...when] }))

const named = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.merlon.dev/v1alpha3"

export const authentication = (jwtRules: readonly JwtRule[]): RequestAuthentication => ({
  apiVersion,
  kind: "RequestAuthentication",
  metadata: named("jwt"),
  spec: { jwtRules: [...jwtRules] },
})

export const authorization = (action: "ALLOW" | "DENY", list: readonly Rule[]): AuthorizationPolicy => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: named(action.toLowerCase()),
  spec: { action, rules: [...list] },
})

const peers = (mode: "STRICT" | "PERMISSIVE"): PeerAuthentication => ({
  apiVersion,
  kind: "PeerAuthentication",
  metadata: named("peers"),
  spec: { mtls: { mode } },
})

export interface Parts {
  readonly tokens: readonly JwtRule[]
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
}

const parts: fc.Arbitrary<Parts> = fc.record({
  tokens: fc.array(jwtRules, { maxLength: 2 }),
  allow: fc.array(rules, { maxLength: 2 }),
  deny: fc.array(rules, { maxLength: 2 }),
})

const documentsOf = ({ tokens, allow, deny }: Parts): readonly PolicyDocument[] => [
  authentication(tokens),
  ...(allow.length > 0 ? [authorization("ALLOW", allow)] : []),
  ...(deny.length > 0 ? [authorization("DENY", deny)] : []),
]

export const sets: fc.Arbitrary<readonly PolicyDocument[]> = parts.map(documentsOf)

type Edit = (parts: Parts, other: Parts) => Parts

/** Fields of a token rule that are edited one at a time, so that most of the two sides stays the same. */
const FIELDS = ["outputClaimToHeaders", "outputPayloadToHeader", "forwardOriginalToken", "fromHeaders", "fromCookies"]
const MORE_FIELDS = ["fromParams", "spaceDelimitedClaims", "audiences", "presence", "issuer", "requireExpiration"]
const fieldEdits = [...FIELDS, ...FIELDS, ...MORE_FIELDS].map(
  (field): Edit =>
    ({ tokens, ...rest }, other) => {
      const [first, ...others] = tokens
      const { [field as keyof JwtRule]: _, ...without } = first ?? { jwksUri: KEYS[0] ?? "" }
      const value = other.tokens[0]?.[field as keyof JwtRule]
      return { ...rest, tokens: [{ ...without, ...(value === undefined ? {} : { [field]: value }) }, ...others] }
    },
)
const EDITS: readonly Edit[] = [
  same => same,
  ...fieldEdits,
  (set, { tokens }) => ({ ...set, tokens: [...set.tokens, ...tokens.slice(0, 1)] }),
  set => ({ ...set, tokens: set.tokens.slice(1) }),
  set => ({ ...set, tokens: set.tokens.toReversed() }),
  (set, { tokens }) => ({ ...set, tokens }),
  (set, { deny }) => ({ ...set, deny }),
  (set, { allow }) => ({ ...set, allow: [...set.allow, ...allow] }),
]

/** Similar pairs, so that some decide alike and some do not. */
export const pairs: fc.Arbitrary<readonly [readonly PolicyDocument[], readonly PolicyDocument[]]> = fc
  .record({ set: parts, other: parts, edit: fc.nat({ max: EDITS.length - 1 }), modes: fc.tuple(mode(), mode()) })
  .map(({ set, other, edit, modes: [one, two] }) => [
    [...documentsOf(set), ...one],
    [...documentsOf((EDITS[edit] ?? (same => same))(set, other)), ...(two.length > 0 ? two : one)],
  ])

function mode(): fc.Arbitrary<readonly PeerAuthentication[]> {
  return pick<readonly PeerAuthentication[]>([], [], [], [peers("STRICT")], [peers("PERMISSIVE")])
}

export interface Sent {
  readonly connection: Connection
  readonly request: HttpRequest
}

const KEY_IDS = KEYS.flatMap(jwksUri =>
  ["a", "b", undefined].flatMap(issuer => keysOf(issuer === undefined ? { jwksUri } : { issuer, jwksUri })),
)
const PLACES = ["Authorization: Bearer ", "x-token: ", "x-token: T ", "x-two: ", "cookie: t=", "?t=", "?access_token="]
const token = fc.record({
  place: pick(...PLACES),
  iss: pick("a", "b", "c", undefined),
  sub: pick("s", "v", undefined),
  aud: pick<string | readonly string[] | undefined>(undefined, "api", ["https://api", "x"], "other"),
  g: pick<string | readonly string[] | boolean | undefined>(undefined, "v", ["v", "w"], "v w", true),
  h: pick(undefined, { i: "v" }),
  key: pick(...KEY_IDS, undefined),
  expires: fc.boolean(),
})
const address = (text: string) => {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new RangeError(text)
  return parsed
}

export const sent: fc.Arbitrary<Sent> = fc
  .record({
    principal: pick(undefined, "cluster.local/ns/a/sa/x"),
    source: pick("10.0.0.9", "192.0.2.9"),
    port: pick(8080, 81),
    method: pick("GET", "OPTIONS"),
    preflight: fc.boolean(),
    target: pick("/", "/a", "/?q=1"),
    lines: fc.array(
      fc.tuple(pick("x-out", "x_out", "x-token", "x_token", ...OTHERS, "cookie"), pick("v", "s", "a=b", "")),
      {
        maxLength: 3,
      },
    ),
    nominated: pick(undefined, undefined, "x-out", "x-token", "authorization"),
    tokens: fc.array(token, { maxLength: 3 }),
  })
  .map(({ principal, source, port, method, preflight, target: written, lines, nominated, tokens }) => {
    const headers = new Map<string, string[]>()
    const add = (name: string, value: string) => headers.set(name, [...(headers.get(name) ?? []), value])
    for (const [name, value] of lines) add(name, value)
    if (preflight) add("access-control-request-method", "GET")
    if (preflight) add("origin", "https://x")
    if (nominated !== undefined) add("connection", nominated)
    let target = written
    for (const { place, key, expires, ...claims } of tokens) {
      const present = Object.fromEntries(
        Object.entries(claims).flatMap(([name, value]): [string, Claim][] =>
          value === undefined ? [] : [[name, value]],
        ),
      )
      const signed = { place: "", claims: present, expires }
      const text = signedToken(key === undefined ? signed : { ...signed, key }, NOW)
      const [name = "", before = ""] = place.split(": ")
      if (place.startsWith("?")) target += `${target.includes("?") ? "&" : "?"}${place.slice(1)}${text}`
      else add(name.toLowerCase(), `${before}${text}`)
    }
    return {
      connection: {
        peer: principal === undefined ? undefined : parseSpiffeId(`spiffe://${principal}`),
        sourceIp: address(source),
        destinationIp: address("10.0.0.1"),
        destinationPort: port,
        sni: undefined,
      },
      request: { method, scheme: principal === undefined ? "http" : "https", host: "web.foo", target, headers },
    }
  })

/** `program` must have replay keys, as `policySide` compiles it. */
export function judged(
  program: Program,
  { connection, request }: Sent,
): { readonly outcome: Outcome; readonly rule: string } {
  const judgement = judge(program, connection, request, NOW)
  switch (judgement.stage) {
    case "transport":
      return { outcome: "transport", rule: "" }
    case "token":
      return { outcome: "unauthenticated", rule: "" }
    case "path":
    case "internal":
      throw new Error(`cannot judge ${request.target}`)
    default:
      return { outcome: judgement.verdict === "allow" ? "allow" : "deny", rule: judgement.decision.rule?.id ?? "" }
  }
}

export const meshes: fc.Arbitrary<Partial<MeshConfig>> = pick<Partial<MeshConfig>>(
  {},
  {},
  { numTrustedProxies: 1 },
  { dialect: "istio" },
)
