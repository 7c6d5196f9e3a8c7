// SPDX-License-Identifier: Apache-2.0
// The stages of a request (docs/semantics.md, "Stages and status codes") as problems: a request has an outcome exactly if
// it solves one of its problems, which is to lie in a region of each need and in no ban.

import { applying, type Mesh, modesOf, type Policy, type TokenRule, tokenRules, type Workload } from "./policies.js"
import { Invalid, list } from "./read.js"
import { always, type Context, type Frame, hasToken, keyed, only, type Region, regionOf } from "./rules.js"
import { literal } from "./text.js"
import { choiceMark, condition, type Given, subjectMark, textMark } from "./values.js"

export interface Problem {
  readonly needs: readonly (readonly Region[])[]
  readonly bans: readonly Region[]
}

export interface Side {
  readonly policies: readonly Policy[]
  readonly modes: ReadonlyMap<string, string>
  readonly tokens: readonly TokenRule[]
}

export interface Stages {
  readonly transport: readonly Region[]
  readonly missing: readonly Region[]
  readonly good: readonly Region[] | undefined
  readonly deny: readonly Region[]
  readonly allow: readonly Region[]
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

export const looksAt = ({ locations }: TokenRule, token: string): boolean => locations.includes(token)

/** A location stands for all at which the same rules look, by the name that is first. */
export function framesOf(sides: readonly Side[]): readonly Frame[] {
  const rules = sides.flatMap(({ tokens }) => tokens)
  const places = new Map<string, string>()
  for (const place of [...new Set(rules.flatMap(({ locations }) => locations))].sort()) {
    const lookers = rules.map(rule => looksAt(rule, place)).join()
    if (!places.has(lookers)) places.set(lookers, place)
  }
  const tokens = ["none", ...places.values(), ...(places.size > 0 ? ["preflight"] : [])]
  const http = tokens.flatMap(token => [true, false].map(identity => ({ identity, http: true, token })))
  return [...http, ...[true, false].map(identity => ({ identity, http: false, token: "none" }))]
}

export function contextOf(side: Side, frame: Frame, mesh: Mesh): Context {
  const isSeen = !hasToken(frame) || side.tokens.some(rule => looksAt(rule, frame.token))
  return {
    frame: isSeen ? frame : { ...frame, token: "none" },
    mesh,
    issuers: side.tokens.flatMap(({ issuer }) => issuer ?? []),
  }
}

export function stagesOf(side: Side, at: number, context: Context): Stages {
  const { frame } = context
  const rules = (wanted: string): readonly Region[] =>
    side.policies.flatMap(policy => {
      const { kind, namespace, name, spec } = policy
      if (kind !== "AuthorizationPolicy" || (spec.action ?? "ALLOW") !== wanted) return []
      return list(spec.rules ?? [], name).flatMap(
        (rule, index) => regionOf(rule, policy, `${at} ${namespace}/${name}[${index}]`, wanted, context) ?? [],
      )
    })
  const refused = frame.identity ? "DISABLE" : "STRICT"
  const usual = side.modes.get("") === refused
  const other = [...side.modes].filter(([port, mode]) => port !== "" && (mode === refused) !== usual)
  const ports = condition(
    "port",
    usual,
    other.map(([port]) => choiceMark(port)),
  )
  const looking = side.tokens.filter(rule => looksAt(rule, frame.token))
  const required = side.tokens.filter(rule => rule.required)
  const isMissing = frame.http && frame.token !== "preflight" && required.some(rule => !looking.includes(rule))
  return {
    transport: other.length > 0 ? [only(`${at} mode`, ports)] : usual ? [always(`${at} mode`)] : [],
    missing: isMissing ? [always(`${at} missing`)] : [],
    good: hasToken(frame) ? looking.map(rule => accepted(rule, at)) : undefined,
    deny: rules("DENY"),
    allow: rules("ALLOW"),
    closed: side.policies.some(
      ({ kind, spec }) => kind === "AuthorizationPolicy" && (spec.action ?? "ALLOW") === "ALLOW",
    ),
  }
}

function accepted({ label, keys, issuer, audiences, requireExpiration }: TokenRule, at: number): Region {
  return only(
    `${at} ${label}`,
    condition("token key", false, keys.map(choiceMark)),
    ...(issuer === undefined ? [] : [condition("subject", false, [subjectMark(literal(issuer), undefined)])]),
    ...(audiences
      ? [
          condition(
            'claim ["aud"]',
            false,
            audiences.map(one => textMark(literal(one))),
          ),
        ]
      : []),
    ...(requireExpiration ? [condition("expiry", false, [choiceMark("set")])] : []),
  )
}

export function problemsOf(
  { transport, missing, good, deny, allow, closed }: Stages,
  outcome: Outcome,
): readonly Problem[] {
  const authenticated = good === undefined ? [] : [good]
  const reached = [...transport, ...missing]
  switch (outcome) {
    case "transport":
      return [{ needs: [transport], bans: [] }]
    case "unauthenticated": {
      const without = { needs: [missing], bans: transport }
      return good === undefined ? [without] : [without, { needs: [], bans: [...transport, ...good] }]
    }
    case "deny": {
      const denied = { needs: [...authenticated, deny], bans: reached }
      return closed ? [denied, { needs: authenticated, bans: [...reached, ...allow] }] : [denied]
    }
    case "allow":
      return [{ needs: closed ? [...authenticated, allow] : authenticated, bans: [...reached, ...deny] }]
  }
}

/** What every request of the frame is. */
export const givenNeeds = ({ token }: Frame): Problem["needs"] =>
  token === "preflight" ? [[only("given", condition("method", false, [textMark(literal("OPTIONS"))]))]] : []

/**
 * The model has one token in a request, and headers that callers choose. INVARIANT: it holds every request, as far as rules
 * see it, of policies that pass here.
 */
export function checkModelled(
  sides: readonly Side[],
  asked: readonly unknown[],
  { rootNamespace, proxies }: Mesh,
  ofAll: boolean,
): void {
  const rules = sides.flatMap(({ tokens }) => tokens)
  const names = JSON.stringify([sides.map(({ policies }) => policies.map(({ spec }) => spec)), asked])
  const read = [...names.matchAll(/"key":("(?:[^"\\]|\\.)*")/g)].flatMap(
    ([, key = '""']) => keyed(JSON.parse(key)) ?? [],
  )
  const fold = (name: string) => name.replace(/[^a-z0-9-]/g, "-")
  const touched = new Set(rules.flatMap(({ headers }) => headers.map(fold)))
  if (rules.length > 0) for (const name of ["origin", "access-control-request-method", "cookie"]) touched.add(name)
  if (proxies > 0) touched.add("x-forwarded-for")
  // What the proxy says itself no token changes.
  for (const name of ["x-forwarded-proto", "x-forwarded-client-cert"]) touched.delete(name)
  const own = `x-${rootNamespace.replace(/-system$/, "")}-`
  for (const one of read) {
    if (!("header" in one) || one.header.startsWith(":")) continue
    const header = one.header
    if (header !== fold(header) || touched.has(header) || header.startsWith(own) || header.startsWith("proxy-"))
      throw new Invalid(`a rule reads the header \`${header}\`, which is not modelled`)
  }
  for (const { spec, kind, name } of sides.flatMap(({ policies }) => policies))
    if (kind === "AuthorizationPolicy" && spec.action === "CUSTOM")
      throw new Invalid(`${name} asks a provider, which is not modelled`)
  // One request that is shown has one token.
  if (!ofAll) return
  const places = [...new Set(rules.flatMap(({ locations }) => locations))]
  const distinct = new Set(places.map(place => JSON.stringify(JSON.parse(place).slice(0, 2))))
  const isCookieWhole = distinct.has('["header","cookie"]') && places.some(place => place.startsWith('["cookie"'))
  if (distinct.size < places.length || isCookieWhole)
    throw new Invalid("two token rules read one header in different ways")
  for (const { tokens } of sides) {
    const all = new Set(tokens.flatMap(({ locations }) => locations))
    if (tokens.some(rule => rule.required && new Set(rule.locations).size < all.size))
      throw new Invalid("a token is required in one place while others are accepted elsewhere")
  }
  // Rules are asked by issuer; of one issuer, in their order.
  const acceptance = ({ tokens }: Side) =>
    [...tokens]
      .sort((a, b) => Buffer.compare(Buffer.from(a.issuer ?? ""), Buffer.from(b.issuer ?? "")))
      .map(rule => JSON.stringify({ ...rule, label: "", headers: [], locations: [...rule.locations].sort() }))
  const same = new Set(sides.map(side => JSON.stringify([...new Set(acceptance(side))])))
  const readsTokens = /"(notR|r)equestPrincipals"|"key":"request\.auth\./.test(names)
  // Two tokens may meet what is required on both sides, of which one meets only one.
  const isRequired = rules.some(({ required }) => required)
  if (same.size > 1 && (readsTokens || isRequired)) throw new Invalid("requests that carry two tokens are not modelled")
}
