// SPDX-License-Identifier: Apache-2.0
// Policy documents: which of them apply to a workload (docs/semantics.md, "Which policies apply"), its mTLS modes
// (docs/semantics.md, "Peer modes") and its token rules (docs/semantics.md, "Finding tokens").

import { createHash } from "node:crypto"
import { canonical, type Fields, fields, Invalid, list, pairs, text, texts } from "./read.js"

export interface Mesh {
  readonly rootNamespace: string
  readonly trustDomain: string
  readonly aliases: readonly string[]
  readonly paths: string
  readonly proxies: number
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
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly created: number
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
  /** Lower-case names of the headers that it reads or writes. */
  readonly headers: readonly string[]
}

const SCOPE = ["selector", "targetRefs", "enforcement"]
const SPECS: { readonly [kind: string]: readonly string[] } = {
  AuthorizationPolicy: [...SCOPE, "action", "provider", "rules", "denyResponse"],
  PeerAuthentication: [...SCOPE, "mtls", "portLevelMtls"],
  RequestAuthentication: [...SCOPE, "jwtRules"],
  PolicyInvariant: [...SCOPE, "never", "always"],
}

/** A document of a security kind; undefined of any other kind. */
export function readPolicy(document: unknown, namespace: string): Policy | undefined {
  const { kind, metadata, spec = {} } = (document ?? {}) as Fields // a name that is missing is no security kind
  if (typeof kind !== "string" || !Object.hasOwn(SPECS, kind)) return undefined
  const meta = (metadata ?? {}) as Fields // its other names do not concern us
  const id = { namespace: text(meta.namespace ?? namespace, kind), name: text(meta.name, kind) }
  const { creationTimestamp: created, annotations } = meta
  const age = typeof created === "string" ? Date.parse(created) : Number.NaN
  const digest = createHash("sha256")
    .update(canonical([kind, id, created ?? null, annotations ?? {}, spec]))
    .digest("hex")
  const read = fields(spec, `${kind} ${id.name}`, SPECS[kind] ?? [])
  const shadow = read.enforcement === "Shadow" ? read : { ...read, annotations }
  return { kind, ...id, created: Number.isNaN(age) ? Number.MAX_SAFE_INTEGER : age, spec: shadow, digest }
}

export function isShadow({ kind, spec }: Policy, { dryRun }: Mesh): boolean {
  if (spec.enforcement === "Shadow") return true
  const said = pairs(spec.annotations, "annotations").find(([name]) => name === dryRun)?.[1] ?? ""
  return kind === "AuthorizationPolicy" && ["1", "t", "T", "TRUE", "true", "True"].includes(said)
}

type Scope = "mesh" | "namespace" | "workload"

const TARGET = ["group", "kind", "name"]
const GATEWAY_LABELS: { readonly [kind: string]: string } = {
  Gateway: "gateway",
  HTTPRoute: "http-route",
  GRPCRoute: "grpc-route",
}

/** A Service has its workloads, a Gateway or a route the authorizers whose label names it. */
function isBehind({ group = "", kind, name }: Fields, { services, labels }: Workload, { dryRun }: Mesh): boolean {
  const target = text(name, "targetRefs")
  if (kind === "Service" && (group === "" || group === "core")) return services.includes(target)
  const of = text(kind, "targetRefs")
  if (group !== "gateway.networking.k8s.io" || !Object.hasOwn(GATEWAY_LABELS, of))
    throw new Invalid(`\`${of}\` is no target that is known`)
  // Both names start with the domain of the mesh.
  return target !== "" && labels.get(dryRun.replace(/[^/]*$/, GATEWAY_LABELS[of] ?? "")) === target
}

/** Undefined where it says nothing about the workload. */
export function scopeOf({ kind, namespace, name, spec }: Policy, workload: Workload, mesh: Mesh): Scope | undefined {
  const isLocal = namespace === workload.namespace
  if (spec.targetRefs !== undefined) {
    const targets = list(spec.targetRefs, name).filter(ref => isBehind(fields(ref, name, TARGET), workload, mesh))
    return isLocal && targets.length > 0 ? "workload" : undefined
  }
  const { matchLabels } = fields(spec.selector ?? {}, `${name}.selector`, ["matchLabels"])
  const labels = pairs(matchLabels, `${name}.selector`)
  const selects = labels.every(([label, value]) => workload.labels.get(label) === value)
  const isRoot = namespace === mesh.rootNamespace
  if (!selects || !(isLocal || isRoot)) return undefined
  // A PeerAuthentication of the root namespace is without a selector, or ignored.
  if (kind === "PeerAuthentication" && isRoot) return labels.length > 0 ? undefined : "mesh"
  return labels.length > 0 ? "workload" : "namespace"
}

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
const byAge = (a: Policy, b: Policy): number =>
  a.created - b.created || byText(a.name, b.name) || byText(a.namespace, b.namespace)

/** What is enforced on the workload, the oldest first. */
export const applying = (policies: readonly Policy[], workload: Workload, mesh: Mesh): readonly Policy[] =>
  policies
    .filter(one => one.kind !== "PolicyInvariant" && !isShadow(one, mesh) && scopeOf(one, workload, mesh) !== undefined)
    .sort(byAge)

/** The mode of each port that has one of its own, and of all others under "". */
export function modesOf(policies: readonly Policy[], workload: Workload, mesh: Mesh): ReadonlyMap<string, string> {
  const peers = policies.filter(({ kind }) => kind === "PeerAuthentication")
  const modes = new Map([["", "PERMISSIVE"]])
  const modeOf = (value: unknown, name: string): string => {
    const mode = text(fields(value ?? {}, name, ["mode"]).mode ?? "UNSET", name)
    if (!["UNSET", "STRICT", "PERMISSIVE", "DISABLE"].includes(mode)) throw new Invalid(`\`${mode}\` is no mode`)
    return mode
  }
  for (const scope of ["mesh", "namespace", "workload"] as const) {
    const oldest = peers.find(one => scopeOf(one, workload, mesh) === scope)
    if (oldest === undefined) continue
    const mode = modeOf(oldest.spec.mtls, oldest.name)
    if (mode !== "UNSET") modes.set("", mode)
    const ports = (oldest.spec.portLevelMtls ?? {}) as Fields // of ports; each is read strictly
    for (const [port, value] of Object.entries(ports)) {
      const own = modeOf(value, oldest.name)
      if (scope === "workload" && own !== "UNSET") modes.set(String(Number(port)), own)
    }
  }
  return modes
}

const OF_RULE = [
  ...["issuer", "audiences", "jwksUri", "jwks", "caBundle", "fromHeaders", "fromParams", "fromCookies", "presence"],
  ...["requireExpiration", "forwardOriginalToken", "outputPayloadToHeader", "outputClaimToHeaders"],
  ...["spaceDelimitedClaims", "timeout"],
]

export function tokenRules(policies: readonly Policy[]): readonly TokenRule[] {
  return policies.flatMap(({ kind, namespace, name, spec }) =>
    list((kind === "RequestAuthentication" && spec.jwtRules) || [], name).map((rule, at): TokenRule => {
      const read = fields(rule, name, OF_RULE)
      const issuer = read.issuer === undefined ? undefined : text(read.issuer, name)
      const scrub = (audience: string) => audience.replace(/^https?:\/\//, "").replace(/\/$/, "")
      const accepted = [...new Set(texts(read.audiences, name).map(scrub))].filter(one => one !== "")
      const spelled = accepted.flatMap(one => ["", "https://", "http://"].flatMap(as => [as + one, `${as}${one}/`]))
      const outputs = list(read.outputClaimToHeaders ?? [], name).map(
        one => fields(one, name, ["header", "claim"]).header,
      )
      const locations = locationsOf(read, name)
      return {
        label: `token ${namespace}/${name}[${at}]`,
        issuer,
        audiences: read.audiences === undefined ? undefined : spelled.filter(one => accepted.includes(scrub(one))),
        requireExpiration: read.requireExpiration === true,
        keys: keysOf(read, issuer, name),
        locations: locations.map(location => JSON.stringify(location)),
        required: read.presence === "REQUIRED",
        delimited: [...new Set(["scope", "permission", ...texts(read.spaceDelimitedClaims, name)])].sort(),
        headers: [
          ...locations.map(([of, called]) => (of === "header" ? called : of)),
          ...[read.outputPayloadToHeader, ...outputs].flatMap(one =>
            one === undefined ? [] : text(one, name).toLowerCase(),
          ),
        ],
      }
    }),
  )
}

function locationsOf(
  { fromHeaders, fromParams, fromCookies }: Fields,
  name: string,
): readonly (readonly [string, string, string])[] {
  const headers = list(fromHeaders ?? [], name).map(one => {
    const { name: header, prefix = "" } = fields(one, name, ["name", "prefix"])
    return ["header", text(header, name).toLowerCase(), text(prefix, name)] as const
  })
  const [params, cookies] = [texts(fromParams, name), texts(fromCookies, name)]
  if (headers.length + params.length + cookies.length === 0)
    return [
      ["header", "authorization", "Bearer "],
      ["param", "access_token", ""],
    ]
  return [
    ...headers,
    ...params.map(one => ["param", one, ""] as const),
    ...cookies.map(one => ["cookie", one, ""] as const),
  ]
}

/** A fetched key set counts as one key; each inline key counts by its contents. */
function keysOf({ jwks, jwksUri, caBundle }: Fields, issuer: string | undefined, name: string): readonly string[] {
  const digest = (of: string) => createHash("sha256").update(of)
  if (jwks === undefined) {
    const authorities = caBundle === undefined ? [] : [digest(text(caBundle, name)).digest("base64url")]
    return [`fetched ${JSON.stringify([issuer ?? "", jwksUri ?? "", ...authorities])}`]
  }
  const { keys } = JSON.parse(text(jwks, name)) as Fields // read strictly below
  return list(keys, `${name}.jwks`).map(key => {
    // Of a set without any usable key no token is good, which is not followed here: each must look like a usable one.
    const { kty, n, e, crv, x } = key as Fields
    const usable = kty === "RSA" ? n && e : (kty === "EC" || kty === "OKP") && crv && x
    if (!usable) throw new Invalid(`${name} has a key that is not read here`)
    return `inline ${digest(JSON.stringify(key)).digest("hex").slice(0, 16)}`
  })
}
