// SPDX-License-Identifier: Apache-2.0
// What Istio's control plane generates for Envoy: the filters `rbac` and `jwt_authn` of a sidecar, for Istio's
// policies.

import { isDeepStrictEqual } from "node:util"
import type { AuthorizationPolicy, JwtRule } from "@merlon/policy/resources"
import { type } from "./envoy.js"

type Rule = NonNullable<AuthorizationPolicy["spec"]["rules"]>[number]
type Source = NonNullable<NonNullable<NonNullable<Rule["from"]>[number]>["source"]>
type Operation = NonNullable<NonNullable<NonNullable<Rule["to"]>[number]>["operation"]>
type Condition = NonNullable<Rule["when"]>[number]

const exactly = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

function text(value: string, ignore_case = false): object {
  if (value === "*") return { safe_regex: { regex: ".+" } }
  if (value.startsWith("*")) return { suffix: value.slice(1), ignore_case }
  if (value.endsWith("*")) return { prefix: value.slice(0, -1), ignore_case }
  return { exact: value, ignore_case }
}

const header = (name: string, value: string, ignoreCase = false) => ({
  header: value === "*" ? { name, present_match: true } : { name, string_match: text(value, ignoreCase) },
})

function path(value: string): object {
  if (!value.includes("{")) return { url_path: { path: text(value) } }
  const config = {
    ...type("envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig"),
    path_template: value.replaceAll("{**}", "**").replaceAll("{*}", "*"),
  }
  return { uri_template: { name: "envoy.path.match.uri_template.uri_template_matcher", typed_config: config } }
}

function peer(value: string): object {
  const named = (name: object) => ({ authenticated: { principal_name: name } })
  if (value === "*") return named({ safe_regex: { regex: ".+" } })
  if (value.startsWith("*")) return named({ safe_regex: { regex: `spiffe://.*${exactly(value.slice(1))}` } })
  return named(text(`spiffe://${value}`))
}

const inPayload = (keys: readonly string[], value: object) => ({
  metadata: { filter: "envoy.filters.http.jwt_authn", path: ["payload", ...keys].map(key => ({ key })), value },
})

function claim(keys: readonly string[], value: string): object {
  const matcher = { string_match: text(value) }
  return { or_ids: { ids: [inPayload(keys, matcher), inPayload(keys, { list_match: { one_of: matcher } })] } }
}

function principal(value: string): object {
  const slash = value.lastIndexOf("/")
  const [issuer, subject] = value === "*" ? ["*", "*"] : [value.slice(0, slash), value.slice(slash + 1)]
  const ids = [inPayload(["iss"], { string_match: text(issuer) }), inPayload(["sub"], { string_match: text(subject) })]
  return { and_ids: { ids } }
}

const block = (value: string) => {
  const [address_prefix, length = "32"] = value.split("/")
  return { address_prefix, prefix_len: Number(length) }
}

const ANY = { any: true }
const anyId = (ids: readonly object[]) => ({ or_ids: { ids } })
const anyRule = (rules: readonly object[]) => ({ or_rules: { rules } })

type Matcher = (value: string) => object
type Fields = readonly (readonly [
  values: readonly string[] | undefined,
  notValues: readonly string[] | undefined,
  matcher: Matcher,
])[]

const principalOf = (one: Source, ofPolicy: string): object => ({
  and_ids: {
    ids: idsOf([
      [one.principals, one.notPrincipals, peer],
      [one.requestPrincipals, one.notRequestPrincipals, principal],
      [one.serviceAccounts, one.notServiceAccounts, account(ofPolicy)],
      [one.trustDomains, one.notTrustDomains, trustDomain],
      [one.namespaces, one.notNamespaces, namespace],
      [one.remoteIpBlocks, one.notRemoteIpBlocks, value => ({ remote_ip: block(value) })],
      [one.ipBlocks, one.notIpBlocks, value => ({ direct_remote_ip: block(value) })],
    ]),
  },
})

const idsOf = (fields: Fields): readonly object[] => {
  const ids = fields.flatMap(([values, notValues, matcher]) => [
    ...(values === undefined ? [] : [anyId(values.map(matcher))]),
    ...(notValues === undefined ? [] : [{ not_id: anyId(notValues.map(matcher)) }]),
  ])
  return ids.length === 0 ? [ANY] : ids
}

const identity = (regex: string) => ({ authenticated: { principal_name: { safe_regex: { regex } } } })

const namespace = (value: string): object => identity(`.*/ns/${value.split("*").map(exactly).join(".*")}/.*`)

function account(ofPolicy: string): Matcher {
  return value => {
    const [place = "", name = ""] = value.includes("/") ? value.split("/") : [ofPolicy, value]
    return identity(`spiffe://.+/ns/${exactly(place)}/(.+/|)sa/${exactly(name)}(/.+)?`)
  }
}

function trustDomain(value: string): object {
  if (!value.includes("*")) return { authenticated: { principal_name: { prefix: `spiffe://${value}/` } } }
  if (value === "*") return { authenticated: { principal_name: { prefix: "spiffe://" } } }
  return identity(`spiffe://${value.split("*").map(exactly).join("[^/]*")}/.*`)
}

/** For Istio, conditions on the destination are permissions, and all others are about the caller. */
const DESTINATION: Readonly<Record<string, Matcher>> = {
  "destination.ip": value => ({ destination_ip: block(value) }),
  "destination.port": value => ({ destination_port: Number(value) }),
  "connection.sni": value => ({ requested_server_name: text(value) }),
}

function permissionOf(one: Operation, when: readonly Condition[]): object {
  const fields: Fields = [
    [one.hosts, one.notHosts, value => header(":authority", value, true)],
    [one.methods, one.notMethods, value => header(":method", value)],
    [one.paths, one.notPaths, path],
    [one.ports, one.notPorts, value => ({ destination_port: Number(value) })],
    ...when.flatMap(({ key, values, notValues }): Fields => {
      const matcher = DESTINATION[key]
      return matcher === undefined ? [] : [[values, notValues, matcher]]
    }),
  ]
  const rules = fields.flatMap(([values, notValues, matcher]) => [
    ...(values === undefined ? [] : [anyRule(values.map(matcher))]),
    ...(notValues === undefined ? [] : [{ not_rule: anyRule(notValues.map(matcher)) }]),
  ])
  return { and_rules: { rules: rules.length === 0 ? [ANY] : rules } }
}

function conditionOf({ key, values, notValues }: Condition, ofPolicy: string): object {
  const claims = /^request\.auth\.claims\[(.+)\]$/.exec(key)?.[1]?.split("][")
  const name = /^request\.headers\[(.+)\]$/.exec(key)?.[1]
  const ofCaller: Readonly<Record<string, Matcher>> = {
    "source.ip": value => ({ direct_remote_ip: block(value) }),
    "remote.ip": value => ({ remote_ip: block(value) }),
    "source.namespace": namespace,
    "source.serviceAccount": account(ofPolicy),
    "source.trustDomain": trustDomain,
    "source.principal": peer,
    "request.auth.principal": principal,
    "request.auth.audiences": value => claim(["aud"], value),
    "request.auth.presenter": value => claim(["azp"], value),
  }
  const matcher: Matcher = ofCaller[key] ?? (value => (claims ? claim(claims, value) : header(name ?? key, value)))
  return { and_ids: { ids: idsOf([[values, notValues, matcher]]) } }
}

export const rbacFilter = (policy: AuthorizationPolicy) => ({
  ...type("envoy.extensions.filters.http.rbac.v3.RBAC"),
  rules: rbacOf(policy),
})

/** What is left of a policy on connections: an ALLOW rule that looks at requests is left out, a DENY rule loses what it looks at. */
export function overTcp(policy: AuthorizationPolicy): AuthorizationPolicy {
  const { action, rules = [] } = policy.spec
  const left = rules.map(withoutHttp)
  const kept = action === "DENY" ? left : rules.filter((rule, at) => isDeepStrictEqual(rule, left[at]))
  return { ...policy, spec: { ...policy.spec, rules: kept } }
}

const OF_REQUESTS = /^(not)?(requestPrincipals|hosts|methods|paths)$|^request\./i

/** What a rule looks at of a connection. */
export const withoutHttp = ({ from, to, when }: Rule): Rule => ({
  ...(from && { from: from.map(({ source }) => ({ source: onConnections(source) })) }),
  ...(to && { to: to.map(({ operation }) => ({ operation: onConnections(operation) })) }),
  ...(when && { when: when.filter(({ key }) => !OF_REQUESTS.test(key)) }),
})

const onConnections = (fields: object = {}): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !OF_REQUESTS.test(name)))

/** One provider for each rule, and the requirement that Istio combines them to. */
export function jwtAuthn(rules: readonly JwtRule[]): object {
  // Sorted by issuer, as the control plane does; Go's sort is stable for so few.
  const ordered = rules.toSorted((a, b) => Buffer.compare(Buffer.from(a.issuer ?? ""), Buffer.from(b.issuer ?? "")))
  const providers = ordered.map((rule, index) => [`origins-${index}`, providerOf(rule)] as const)
  return {
    ...type("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"),
    providers: Object.fromEntries(providers),
    rules: [{ match: { prefix: "/" }, requires: requirementOf(providers.map(([name]) => name)) }],
    bypass_cors_preflight: true,
  }
}

const providerOf = (rule: JwtRule) => ({
  issuer: rule.issuer,
  audiences: rule.audiences,
  forward: rule.forwardOriginalToken,
  forward_payload_header: rule.outputPayloadToHeader,
  payload_in_metadata: "payload",
  normalize_payload_in_metadata: {
    space_delimited_claims: [...new Set(["permission", "scope", ...(rule.spaceDelimitedClaims ?? [])])],
  },
  claim_to_headers: rule.outputClaimToHeaders?.map(({ header, claim }) => ({ header_name: header, claim_name: claim })),
  from_headers: rule.fromHeaders?.map(({ name, prefix }) => ({ name, value_prefix: prefix })),
  from_params: rule.fromParams,
  from_cookies: rule.fromCookies,
  local_jwks: { inline_string: rule.jwks },
})

function requirementOf(providers: readonly string[]): object {
  const any = (requirements: readonly object[]) => ({ requires_any: { requirements } })
  const each = providers.map(provider_name => ({ provider_name }))
  const orMissing = each.map(one => any([one, { allow_missing: {} }]))
  const [only, ...others] = orMissing
  return only !== undefined && others.length === 0
    ? only
    : any([...each, { requires_all: { requirements: orMissing } }])
}

export const rbacOf = ({ metadata: { namespace: own }, spec: { action, rules = [] } }: AuthorizationPolicy) => ({
  action,
  policies: Object.fromEntries(
    rules.map(({ from = [], to = [], when = [] }, index) => [
      `rule-${index}`,
      {
        permissions: (to.length === 0 ? [{}] : to).map(({ operation = {} }) => permissionOf(operation, when)),
        principals: [
          {
            and_ids: {
              ids: [
                ...(from.length === 0 ? [ANY] : [anyId(from.map(({ source = {} }) => principalOf(source, own)))]),
                ...when.filter(({ key }) => !Object.hasOwn(DESTINATION, key)).map(one => conditionOf(one, own)),
              ],
            },
          },
        ],
      },
    ]),
  ),
})
