// SPDX-License-Identifier: Apache-2.0
// The stages of a request (docs/semantics.md, "Stages and status codes") as problems: a request has an outcome exactly if
// it solves one of its problems, which is to lie in a region of each need and in no ban.

import {
  actionOf,
  applying,
  type Mesh,
  modesOf,
  type Policy,
  type TokenRule,
  tokenRules,
  type Workload,
} from "./policies.js"
import { Invalid, list } from "./read.js"
import { CLIENT_CERT, type Context, type Frame, hasToken, keyed, type Region, region, regionOf } from "./rules.js"
import { literal } from "./text.js"
import { condition, exactly, type Given, subjectPattern } from "./values.js"

export interface Problem {
  readonly needs: readonly (readonly Region[])[]
  readonly bans: readonly Region[]
}

/** The policies of one set that apply to one workload. */
export interface Side {
  readonly policies: readonly Policy[]
  readonly modes: ReadonlyMap<string, string>
  readonly tokens: readonly TokenRule[]
}

export interface Stages {
  readonly transport: readonly Region[]
  readonly missing: readonly Region[]
  /** For each token rule that may accept the token; undefined without a token. */
  readonly good: readonly Region[] | undefined
  readonly deny: readonly Region[]
  readonly allow: readonly Region[]
  /** Whether some ALLOW policy applies. */
  readonly closed: boolean
}

export const OUTCOMES = ["allow", "deny", "unauthenticated", "transport"] as const
export type Outcome = (typeof OUTCOMES)[number]

export function sideOf(all: readonly Policy[], workload: Workload, mesh: Mesh): Side {
  const policies = applying(all, workload, mesh)
  return { policies, modes: modesOf(policies, workload, mesh), tokens: tokenRules(policies) }
}

export const givenOf = (sides: readonly Side[], { ports }: Workload, { paths }: Mesh): Given => ({
  paths,
  ports,
  keys: [...new Set(sides.flatMap(({ tokens }) => tokens.flatMap(({ keys }) => keys)))].sort(),
})

const looksAt = ({ locations }: TokenRule, token: string): boolean => locations.includes(token)

/** A location stands for all locations at which the same rules look; the first name is used. */
export function framesOf(sides: readonly Side[]): readonly Frame[] {
  const rules = sides.flatMap(({ tokens }) => tokens)
  const places = new Map<string, string>()
  for (const place of [...new Set(rules.flatMap(({ locations }) => locations))].sort()) {
    const readers = rules.map(rule => looksAt(rule, place)).join()
    if (!places.has(readers)) places.set(readers, place)
  }
  const tokens = ["none", ...places.values(), ...(places.size > 0 ? ["preflight"] : [])]
  const kinds = [...tokens.map(token => ({ http: true, token })), { http: false, token: "none" }]
  return kinds.flatMap(kind => [true, false].map(identity => ({ identity, ...kind })))
}

export function contextOf({ tokens }: Side, frame: Frame, mesh: Mesh): Context {
  const isSeen = !hasToken(frame) || tokens.some(rule => looksAt(rule, frame.token))
  return {
    frame: isSeen ? frame : { ...frame, token: "none" },
    mesh,
    issuers: tokens.flatMap(({ issuer }) => issuer ?? []),
  }
}

export function stagesOf({ policies, modes, tokens }: Side, at: number, context: Context): Stages {
  const { frame } = context
  const rules = (wanted: string): readonly Region[] =>
    policies.flatMap(policy => {
      const label = `${at} ${policy.namespace}/${policy.name}`
      return list((actionOf(policy) === wanted && policy.spec.rules) || [], policy.name).flatMap(
        (rule, index) => regionOf(rule, policy, `${label}[${index}]`, wanted, context) ?? [],
      )
    })
  const rejected = frame.identity ? "DISABLE" : "STRICT"
  const isUsual = modes.get("") === rejected
  const ports = [...modes.keys()].filter(port => port !== "" && (modes.get(port) === rejected) !== isUsual)
  const mode = region(`${at} mode`, ...(ports.length > 0 ? [[[condition("port", isUsual, exactly(...ports))]]] : []))
  const looking = tokens.filter(rule => looksAt(rule, frame.token))
  const isMissing =
    frame.http && frame.token !== "preflight" && tokens.some(one => one.required && !looking.includes(one))
  return {
    transport: isUsual || ports.length > 0 ? [mode] : [],
    missing: isMissing ? [region(`${at} missing`)] : [],
    good: hasToken(frame) ? looking.map(rule => accepted(rule, at)) : undefined,
    deny: rules("DENY"),
    allow: rules("ALLOW"),
    closed: policies.some(policy => actionOf(policy) === "ALLOW"),
  }
}

function accepted({ label, keys, issuer, audiences, requireExpiration }: TokenRule, at: number): Region {
  const ofIssuer =
    issuer === undefined ? [] : [condition("subject", false, [subjectPattern(literal(issuer), undefined)])]
  const ofAudience = audiences === undefined ? [] : [condition('claim ["aud"]', false, exactly(...audiences))]
  const expiring = requireExpiration ? [condition("expiry", false, exactly("set"))] : []
  const signed = condition("token key", false, exactly(...keys))
  return region(`${at} ${label}`, [[signed, ...ofIssuer, ...ofAudience, ...expiring]])
}

export function problemsOf(stages: Stages, outcome: Outcome): readonly Problem[] {
  const { transport, missing, good, deny, allow, closed } = stages
  const authenticated = good === undefined ? [] : [good]
  const reached = [...transport, ...missing]
  switch (outcome) {
    case "transport":
      return [{ needs: [transport], bans: [] }]
    case "unauthenticated": {
      const rejected = good === undefined ? [] : [{ needs: [], bans: [...transport, ...good] }]
      return [{ needs: [missing], bans: transport }, ...rejected]
    }
    case "deny": {
      const unmatched = closed ? [{ needs: authenticated, bans: [...reached, ...allow] }] : []
      return [{ needs: [...authenticated, deny], bans: reached }, ...unmatched]
    }
    case "allow":
      return [{ needs: closed ? [...authenticated, allow] : authenticated, bans: [...reached, ...deny] }]
  }
}

export const joined = (...all: readonly Problem[]): Problem => ({
  needs: all.flatMap(one => one.needs),
  bans: all.flatMap(one => one.bans),
})

/** What holds for every request of the frame. */
export const givenNeeds = ({ token }: Frame): Problem["needs"] =>
  token === "preflight" ? [[region("given", [[condition("method", false, exactly("OPTIONS"))]])]] : []

/**
 * The model has one token in a request, and headers that callers choose. INVARIANT: for policies that pass this check,
 * the model contains every request as far as rules see it. `ofAll`: including requests with two tokens.
 */
export function checkModelled(sides: readonly Side[], asked: readonly unknown[], mesh: Mesh, ofAll: boolean): void {
  const rules = sides.flatMap(({ tokens }) => tokens)
  const policies = sides.flatMap(side => side.policies)
  const names = JSON.stringify([policies.map(({ spec }) => spec), asked])
  const fold = (name: string) => name.replace(/[^a-z0-9-]/g, "-")
  const touched = new Set(rules.flatMap(({ headers }) => headers.map(fold)))
  if (rules.length > 0) for (const name of ["origin", "access-control-request-method", "cookie"]) touched.add(name)
  if (mesh.proxies > 0) touched.add("x-forwarded-for")
  // The proxy sets these headers itself, so no token changes them.
  for (const name of ["x-forwarded-proto", CLIENT_CERT]) touched.delete(name)
  const own = `x-${mesh.rootNamespace.replace(/-system$/, "")}-`
  for (const [, key = '""'] of names.matchAll(/"key":("(?:[^"\\]|\\.)*")/g)) {
    const of = keyed(JSON.parse(key))
    if (of === undefined || !("header" in of) || of.header.startsWith(":")) continue
    const { header } = of
    if (header !== fold(header) || touched.has(header) || header.startsWith(own) || header.startsWith("proxy-"))
      throw new Invalid(`a rule reads the header \`${header}\`, which is not modelled`)
  }
  const custom = policies.find(policy => actionOf(policy) === "CUSTOM")
  if (custom !== undefined) throw new Invalid(`${custom.name} asks a provider, which is not modelled`)
  const places = [...new Set(rules.flatMap(({ locations }) => locations))]
  const distinct = new Set(places.map(place => JSON.stringify(JSON.parse(place).slice(0, 2))))
  const isCookieWhole = distinct.has('["header","cookie"]') && places.some(place => place.startsWith('["cookie"'))
  if (distinct.size < places.length || isCookieWhole)
    throw new Invalid("two token rules read one header in different ways")
  if (!ofAll) return
  for (const { tokens } of sides) {
    const all = new Set(tokens.flatMap(({ locations }) => locations))
    if (tokens.some(rule => rule.required && new Set(rule.locations).size < all.size))
      throw new Invalid("a token is required in one place while others are accepted elsewhere")
  }
  // Rules are evaluated by issuer; rules of one issuer in their order.
  const acceptance = ({ tokens }: Side) =>
    [...tokens]
      .sort((a, b) => Buffer.compare(Buffer.from(a.issuer ?? ""), Buffer.from(b.issuer ?? "")))
      .map(rule => JSON.stringify({ ...rule, label: "", headers: [], locations: [...rule.locations].sort() }))
  const different = new Set(sides.map(side => JSON.stringify([...new Set(acceptance(side))])))
  const readsTokens = /"(notR|r)equestPrincipals"|"key":"request\.auth\./.test(names)
  // Two tokens may meet the requirements of both sides while one token meets only one of them.
  if (different.size > 1 && (readsTokens || rules.some(({ required }) => required)))
    throw new Invalid("requests that carry two tokens are not modelled")
}
