// SPDX-License-Identifier: Apache-2.0
// Policy documents: which of them apply to a workload (docs/semantics.md, "Which policies apply"), its mTLS modes
// (docs/semantics.md, "Peer modes") and its token rules (docs/semantics.md, "Finding tokens").

import { createHash, createPublicKey } from "node:crypto"
import {
  canonical,
  dnsName,
  type Fields,
  fields,
  Invalid,
  list,
  oneOf,
  pairs,
  port,
  spend,
  text,
  texts,
} from "./read.js"

export interface Mesh {
  readonly rootNamespace: string
  readonly trustDomain: string
  readonly aliases: readonly string[]
  readonly paths: string
  readonly proxies: number
  /** The annotation of shadow mode. */
  readonly dryRun: string
}

export interface Workload {
  readonly namespace: string
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  readonly services: readonly string[]
  readonly ports: readonly string[]
}

export interface Policy {
  readonly apiVersion: unknown
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly created: number
  readonly annotations: unknown
  readonly spec: Fields
  readonly digest: string
}

export interface TokenRule {
  readonly label: string
  readonly issuer: string | undefined
  readonly audiences: readonly string[] | undefined
  readonly requireExpiration: boolean
  readonly keys: readonly string[]
  /** Kind, name and prefix, as JSON. */
  readonly locations: readonly string[]
  readonly required: boolean
  readonly delimited: readonly string[]
  /** Names of the headers that it reads or writes, in lower case. */
  readonly headers: readonly string[]
}

const SCOPE = ["selector", "targetRefs", "enforcement"]
const SPECS: { readonly [kind: string]: readonly string[] } = {
  AuthorizationPolicy: [...SCOPE, "action", "provider", "rules", "denyResponse"],
  PeerAuthentication: [...SCOPE, "mtls", "portLevelMtls"],
  RequestAuthentication: [...SCOPE, "jwtRules"],
  PolicyInvariant: [...SCOPE, "never", "always"],
}

/** A document of a security kind; undefined for any other kind. */
export function readPolicy(document: unknown, ownNamespace: string): Policy | undefined {
  const { apiVersion, kind, metadata, spec: written } = (document ?? {}) as Fields // a name that is missing is no security kind
  if (typeof kind !== "string" || !Object.hasOwn(SPECS, kind)) return undefined
  const meta = fields(metadata ?? {}, kind)
  const creationTimestamp = meta.creationTimestamp ?? null
  const annotations = meta.annotations ?? {}
  const id = { namespace: dnsName(meta.namespace ?? ownNamespace, kind), name: dnsName(meta.name, kind) }
  const spec = respelled(fields(written ?? {}, `${kind} ${id.name}`, SPECS[kind]), id.name)
  oneOf(spec.enforcement ?? "Enforce", ["Enforce", "Shadow"], id.name)
  if (kind === "AuthorizationPolicy") oneOf(spec.action ?? "ALLOW", ["ALLOW", "DENY", "AUDIT", "CUSTOM"], id.name)
  const digest = createHash("sha256")
    .update(canonical([kind, id, creationTimestamp, annotations, spec]))
    .digest("hex")
  const age = typeof creationTimestamp === "string" ? Date.parse(creationTimestamp) : Number.NaN
  const created = Number.isNaN(age) ? Number.MAX_SAFE_INTEGER : age
  return { apiVersion, kind, ...id, created, annotations, spec, digest }
}

/** `jwks_uri` is another spelling of `jwksUri`. */
function respelled(spec: Fields, name: string): Fields {
  if (spec.jwtRules === undefined) return spec
  const jwtRules = list(spec.jwtRules, name).map(rule => {
    const { jwks_uri: jwksUri, ...others } = fields(rule, name)
    if (jwksUri === undefined) return others
    if (others.jwksUri !== undefined) throw new Invalid(`${name} has two spellings of \`jwksUri\``)
    return { ...others, jwksUri }
  })
  return { ...spec, jwtRules }
}

export const actionOf = ({ kind, spec }: Policy): unknown =>
  kind === "AuthorizationPolicy" ? (spec.action ?? "ALLOW") : undefined

function isShadow({ kind, annotations, spec }: Policy, { dryRun }: Mesh): boolean {
  const value = pairs(annotations, "annotations").find(([name]) => name === dryRun)?.[1] ?? ""
  const isDry = kind === "AuthorizationPolicy" && ["1", "t", "T", "TRUE", "true", "True"].includes(value)
  return spec.enforcement === "Shadow" || isDry
}

/**
 * Whether the target selects the workload: a Service selects its workloads, a Gateway or a route the authorizers with
 * its label.
 */
function isBehind(ref: unknown, { services, labels }: Workload, { dryRun }: Mesh): boolean {
  const { group = "", kind, name } = fields(ref, "targetRefs", ["group", "kind", "name"])
  const target = text(name, "targetRefs")
  if (kind === "Service" && (group === "" || group === "core")) return services.includes(target)
  oneOf(group, ["gateway.networking.k8s.io"], "targetRefs")
  const label = oneOf(kind, ["Gateway", "HTTPRoute", "GRPCRoute"], "targetRefs")
    .replace("Route", "-route")
    .toLowerCase()
  // Both names start with the mesh's domain.
  return target !== "" && labels.get(dryRun.replace(/[^/]*$/, label)) === target
}

/** Undefined if the policy does not apply to the workload. */
export function scopeOf({ kind, namespace, name, spec }: Policy, workload: Workload, mesh: Mesh): string | undefined {
  spend(1)
  const isLocal = namespace === workload.namespace
  if (spec.targetRefs !== undefined) {
    if (spec.selector !== undefined) throw new Invalid(`${name} has both \`selector\` and \`targetRefs\``)
    const targets = list(spec.targetRefs, name).filter(ref => isBehind(ref, workload, mesh))
    return isLocal && targets.length > 0 ? "workload" : undefined
  }
  const labels = pairs(fields(spec.selector ?? {}, `${name}.selector`, ["matchLabels"]).matchLabels, name)
  const isRoot = namespace === mesh.rootNamespace
  if (!(isLocal || isRoot) || labels.some(([label, value]) => workload.labels.get(label) !== value)) return undefined
  // A PeerAuthentication of the root namespace that has a selector is ignored.
  if (kind === "PeerAuthentication" && isRoot) return labels.length > 0 ? undefined : "mesh"
  return labels.length > 0 ? "workload" : "namespace"
}

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

/** The policies that are enforced on the workload, the oldest first. */
export const applying = (policies: readonly Policy[], workload: Workload, mesh: Mesh): readonly Policy[] =>
  policies
    .filter(one => one.kind !== "PolicyInvariant" && !isShadow(one, mesh) && scopeOf(one, workload, mesh) !== undefined)
    .sort((a, b) => a.created - b.created || byText(a.name, b.name) || byText(a.namespace, b.namespace))

/** The mode of each port that has its own, and that of all others under "". */
export function modesOf(policies: readonly Policy[], workload: Workload, mesh: Mesh): ReadonlyMap<string, string> {
  const peers = policies.filter(({ kind }) => kind === "PeerAuthentication")
  const modes = new Map([["", "PERMISSIVE"]])
  for (const scope of ["mesh", "namespace", "workload"]) {
    const oldest = peers.find(one => scopeOf(one, workload, mesh) === scope)
    if (oldest === undefined) continue
    const { name, spec } = oldest
    const set = (at: string, value: unknown): void => {
      const { mode = "UNSET" } = fields(value ?? {}, name, ["mode"])
      const known = oneOf(mode, ["UNSET", "STRICT", "PERMISSIVE", "DISABLE"], name)
      if (known !== "UNSET") modes.set(at, known)
    }
    set("", spec.mtls)
    if (scope !== "workload") continue
    for (const [at, value] of Object.entries(fields(spec.portLevelMtls ?? {}, name))) set(port(at, name), value)
  }
  return modes
}

const OF_RULE = [
  ...["issuer", "audiences", "jwksUri", "jwks", "caBundle", "fromHeaders", "fromParams", "fromCookies", "presence"],
  ...["requireExpiration", "forwardOriginalToken", "outputPayloadToHeader", "outputClaimToHeaders"],
  ...["spaceDelimitedClaims", "timeout"],
]

export function tokenRules(policies: readonly Policy[]): readonly TokenRule[] {
  return policies.flatMap(({ namespace, name, spec }) =>
    list(spec.jwtRules ?? [], name).map((rule, at) =>
      tokenRule(fields(rule, name, OF_RULE), `${namespace}/${name}[${at}]`),
    ),
  )
}

function tokenRule(rule: Fields, name: string): TokenRule {
  const issuer = rule.issuer === undefined ? undefined : text(rule.issuer, name)
  const scrub = (audience: string) => audience.replace(/^https?:\/\//, "").replace(/\/$/, "")
  const audiences = texts(rule.audiences, name)
  const accepted = [...new Set(audiences.map(scrub))].filter(one => one !== "")
  const spelled = accepted.flatMap(one => ["", "https://", "http://"].flatMap(as => [as + one, `${as}${one}/`]))
  const locations = locationsOf(rule, name)
  const outputs = list(rule.outputClaimToHeaders ?? [], name).map(one => fields(one, name, ["header", "claim"]).header)
  const written = [rule.outputPayloadToHeader, ...outputs].filter(one => one !== undefined)
  return {
    label: `token ${name}`,
    issuer,
    audiences: audiences.length === 0 ? undefined : spelled.filter(one => accepted.includes(scrub(one))),
    requireExpiration: oneOf(rule.requireExpiration ?? false, [true, false], name),
    keys: keysOf(rule, issuer, name),
    locations: locations.map(location => JSON.stringify(location)),
    required: oneOf(rule.presence ?? "OPTIONAL", ["OPTIONAL", "REQUIRED"], name) === "REQUIRED",
    delimited: [...new Set(["scope", "permission", ...texts(rule.spaceDelimitedClaims, name)])].sort(),
    headers: [
      ...locations.map(([kind = "", called = ""]) => (kind === "header" ? called : kind)),
      ...written.map(one => text(one, name).toLowerCase()),
    ],
  }
}

function locationsOf(rule: Fields, name: string): readonly (readonly string[])[] {
  const headers = list(rule.fromHeaders ?? [], name).map(one => {
    const { name: header, prefix = "" } = fields(one, name, ["name", "prefix"])
    return ["header", text(header, name).toLowerCase(), text(prefix, name)]
  })
  const params = texts(rule.fromParams, name).map(one => ["param", one, ""])
  const cookies = texts(rule.fromCookies, name).map(one => ["cookie", one, ""])
  const all = [...headers, ...params, ...cookies]
  return all.length > 0
    ? all
    : [
        ["header", "authorization", "Bearer "],
        ["param", "access_token", ""],
      ]
}

/** A fetched key set counts as one key; each inline key is identified by its contents. */
function keysOf({ jwks, jwksUri, caBundle }: Fields, issuer: string | undefined, name: string): readonly string[] {
  const digest = (of: string) => createHash("sha256").update(of)
  if (jwks === undefined) {
    const authorities = caBundle === undefined ? [] : [digest(text(caBundle, name)).digest("base64url")]
    return [`fetched ${JSON.stringify([issuer ?? "", jwksUri ?? "", ...authorities])}`]
  }
  return list(fields(JSON.parse(text(jwks, name)), name).keys, `${name}.jwks`).map(key => {
    // No token is valid for a set without any usable key. That is not modelled here, so each key must be usable.
    if (!isUsable(fields(key, name))) throw new Invalid(`${name} has a key that is not read here`)
    return `inline ${digest(JSON.stringify(key)).digest("hex").slice(0, 16)}`
  })
}

const ALGORITHMS = new Map([
  ["rsa", /^([RP]S(256|384|512))?$/],
  ["prime256v1", /^(ES256)?$/],
  ["secp384r1", /^(ES384)?$/],
  ["secp521r1", /^(ES512)?$/],
  ["ed25519", /^(EdDSA)?$/],
])

/** docs/semantics.md, "Verifying tokens". */
function isUsable({ kty, kid = "", alg = "", e, n, crv, x, y }: Fields): boolean {
  const members = JSON.parse(JSON.stringify({ kty, e, n, crv, x, y }))
  const { asymmetricKeyType = "", asymmetricKeyDetails: details } = createPublicKey({ key: members, format: "jwk" })
  const bits = details?.modulusLength ?? 2048
  const isSafe = bits >= 2048 && bits <= 8192 && [undefined, 3n, 65_537n].includes(details?.publicExponent)
  const algorithms = ALGORITHMS.get(details?.namedCurve ?? asymmetricKeyType)
  return isSafe && typeof kid === "string" && algorithms?.test(String(alg)) === true
}
