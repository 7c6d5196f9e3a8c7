// SPDX-License-Identifier: Apache-2.0
// The checker comes to the outcome of `judge`, whatever the policies say and whatever the request is. Everything that it
// calls valid rests on its own reading, selection and matching, so they are compared over all fields. A proof of similar
// policies is not valid for a claim that a request contradicts.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { policies } from "../../packages/policy/src/authorization/testing/arbitraries.js"
import { type MeshConfig, meshConfig, PATH_NORMALIZATIONS } from "../../packages/policy/src/mesh/config.js"
import { GATEWAY_GROUP } from "../../packages/policy/src/mesh/names.js"
import { canonical } from "../../packages/policy/src/proof/certificate/canonical.js"
import type { Certificate } from "../../packages/policy/src/proof/certificate/certificate.js"
import { requestOf } from "../../packages/policy/src/proof/certificate/request-json.js"
import { policySide } from "../../packages/policy/src/proof/policy-side.js"
import { checkInvariants } from "../../packages/policy/src/proof/questions/invariants.js"
import { Replay } from "../../packages/policy/src/proof/replay.js"
import { authentication } from "../../packages/policy/src/proof/testing/token-sets.js"
import { assertUntilSeen } from "../../packages/policy/src/proof/testing/until-seen.js"
import { keysOf } from "../../packages/policy/src/proof/token-rules.js"
import type { Witness } from "../../packages/policy/src/proof/witness.js"
import type {
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
} from "../../packages/policy/src/resources/document.js"
import type { JwtRule } from "../../packages/policy/src/resources/request-authentication/definition.js"
import { Invalid, readPolicy } from "../../packages/proof-check/src/index.js"
import {
  checkModelled,
  contextOf,
  givenOf,
  OUTCOMES,
  problemsOf,
  sideOf,
  stagesOf,
} from "../../packages/proof-check/src/problems.js"
import { Shown } from "../../packages/proof-check/src/request.js"
import { certificateOf, checked } from "./certified.js"

const NOW = 1_700_000_000
const timeout = 300_000 * inject("effort")
const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const some = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  // fast-check knows no exact optional types
  fc.record(fields, { requiredKeys: [] }) as unknown as fc.Arbitrary<T>

const workload = {
  ...{ namespace: "foo", name: "web-1", labels: { app: "web", "merlon.dev/gateway": "public" } },
  ...{ services: ["web"], ports: [] },
}

const service = (name: string) => ({ targetRefs: [{ kind: "Service", name }] })
const gateway = (name: string) => ({ targetRefs: [{ group: GATEWAY_GROUP, kind: "Gateway", name }] })
const labels = (app: string) => ({ selector: { matchLabels: { app } } })
const ofServices = pick<object>({}, {}, {}, labels("web"), labels("other"), service("web"), service("other"))
const scopes = fc.oneof(ofServices, pick<object>(gateway("public"), gateway("web")))

const mode = pick<"STRICT" | "PERMISSIVE" | "DISABLE" | "UNSET">(
  "STRICT",
  "PERMISSIVE",
  "PERMISSIVE",
  "DISABLE",
  "UNSET",
)
const modes = mode.map(one => ({ mode: one }))
const peers: fc.Arbitrary<readonly PeerAuthentication[]> = fc
  .array(
    fc.record({
      namespace: pick("foo", "foo", "merlon-system", "bar"),
      second: fc.nat({ max: 2 }),
      scope: ofServices,
      spec: some({
        mtls: modes,
        portLevelMtls: some({ "80": modes, "8080": modes }),
        enforcement: pick<"Shadow">("Shadow"),
      }),
    }),
    { maxLength: 4 },
  )
  .map(all =>
    all.map(({ namespace, second, scope, spec }, at): PeerAuthentication => {
      const metadata = { name: `m${at}`, namespace, creationTimestamp: `2026-01-01T00:00:0${second}Z` }
      return {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "PeerAuthentication",
        metadata,
        spec: { ...scope, ...spec },
      }
    }),
  )

const KEYS = ["https://a.example/keys", "https://b.example/keys"]
const ISSUERS = ["iss", "iss/a", "https://a.com"]
const jwtRule: fc.Arbitrary<JwtRule> = fc
  .record({
    jwksUri: pick(...KEYS),
    more: some<Omit<JwtRule, "jwksUri">>({
      issuer: pick(...ISSUERS),
      audiences: pick(["v1"], ["https://v1/", "x"], [], ["/"]),
      presence: pick("REQUIRED", "OPTIONAL"),
      requireExpiration: fc.boolean(),
      fromHeaders: pick<NonNullable<JwtRule["fromHeaders"]>>(
        [{ name: "X-Token" }],
        [{ name: "x-token", prefix: "T " }],
      ),
      fromParams: pick(["t"]),
      fromCookies: pick(["t"]),
      spaceDelimitedClaims: pick(["groups"]),
      forwardOriginalToken: fc.boolean(),
      outputClaimToHeaders: pick([{ header: "x-sub", claim: "sub" }]),
    }),
  })
  .map(({ jwksUri, more }) => ({ jwksUri, ...more }))

const sets: fc.Arbitrary<readonly PolicyDocument[]> = fc
  .record({
    rules: policies,
    scopes: fc.array(scopes, { minLength: 4, maxLength: 4 }),
    jwtRules: fc.array(jwtRule, { maxLength: 2 }),
    peers,
  })
  .map(all => [
    ...all.rules.map((one, at) => ({ ...one, spec: { ...one.spec, ...all.scopes[at] } })),
    authentication(all.jwtRules),
    ...all.peers,
  ])

const KEY_IDS = KEYS.flatMap(jwksUri =>
  [undefined, ...ISSUERS].flatMap(issuer => keysOf({ jwksUri, ...(issuer !== undefined && { issuer }) })),
)
const PLACES = [
  '["header","authorization","Bearer "]',
  '["param","access_token",""]',
  '["header","x-token",""]',
].concat(...['["header","x-token","T "]', '["cookie","t",""]', '["param","t",""]'])
const claims = some({
  iss: pick(...ISSUERS, "other"),
  sub: pick("sub", "s", "b", "a/b", "", "https://a.com"),
  aud: pick<string | string[]>("v1", "https://v1", ["x", "v1"], []),
  azp: pick("v1", "admin"),
  groups: pick<string | string[]>("v1", "x v1", "admin", ["v2", "x"], [""]),
  n: pick({ deep: "v1" }, { deep: ["v2"] }),
})
const address = pick("10.1.2.3", "10.9.9.9", "192.168.1.1", "::1", "fd00::1", "::ffff:10.1.2.3")
const lines = pick<readonly string[]>(["v1"], ["x", "v2"], [""], [" "], ["x-v"])
const headers = some<NonNullable<Witness["headers"]>>(
  Object.fromEntries(
    ["x-v", "x_v", "x-sub", "connection", "origin", "access-control-request-method"].map(name => [name, lines]),
  ),
)

const principals = ["cluster.local/ns/foo/sa/a", "other.td/ns/bar/sa/b", "old.td/ns/bar/sa/b", "a.td/ns/prod-7-eu/sa/c"]
const paths = ["/", "/a", "/a/b", "/a/b/c", "/ab", "/x/c", "/a//c", "/f.txt", "/x*y", "/a/%7C/c", "/a/./c", "/%61", "*"]

const requests: fc.Arbitrary<Witness> = fc
  .record({
    always: fc.record({ sourceIp: address, destinationIp: address, port: pick(80, 8080, 9999) }),
    caller: some<Pick<Witness, "principal" | "remoteIp" | "sni">>({
      principal: pick(...principals),
      remoteIp: address,
      sni: pick("v1", "V1", "w.a.com"),
    }),
    http: fc.option(
      some<Partial<Witness>>({
        method: pick("GET", "POST", "get", "OPTIONS", "OPTIONS"),
        scheme: pick("http", "https"),
        host: pick("a.com", "w.a.com", "A.com:8080", "a.com.", "w.a.com.", "A.com.:8080", "a.com..", "."),
        path: pick(...paths),
        headers,
        token: fc
          .record({ place: pick(...PLACES), claims, key: pick(...KEY_IDS, ""), expires: fc.boolean() })
          .map(({ key, ...token }) => (key === "" ? token : { ...token, key })),
      }),
      { freq: 4 },
    ),
  })
  .map(({ always, caller, http }): Witness => {
    if (http === null) return { protocol: "tcp", ...always, ...caller }
    const { sni: _, ...plaintext } = caller
    const request = { protocol: "http", method: "GET", scheme: "http", path: "/", ...always, ...http } as const
    return { ...request, ...(caller.principal === undefined ? plaintext : caller) }
  })

const meshes: fc.Arbitrary<Partial<MeshConfig>> = some<Partial<MeshConfig>>({
  numTrustedProxies: pick(0, 1, 2),
  pathNormalization: pick(...PATH_NORMALIZATIONS),
  trustDomainAliases: pick([], ["old.td"], ["old.td", "a.td"]),
})

/** The outcomes that the checker lets a certificate claim for the request; undefined where it rejects each. */
function claimable(set: readonly PolicyDocument[], mesh: MeshConfig, request: Witness): readonly string[] | undefined {
  const { trustDomain, trustDomainAliases: aliases, pathNormalization: paths, numTrustedProxies: proxies, names } = mesh
  const settings = {
    trustDomain,
    aliases,
    paths,
    proxies,
    dryRun: names.dryRunAnnotation,
    rootNamespace: names.rootNamespace,
  }
  const at = { ...workload, labels: new Map(Object.entries(workload.labels)) }
  try {
    const policies = set.flatMap(document => readPolicy(JSON.parse(JSON.stringify(document)), "default") ?? [])
    const side = sideOf(policies, at, settings)
    checkModelled([side], [], settings, false)
    const shown = new Shown(JSON.parse(JSON.stringify(requestOf(request))), [side], givenOf([side], at, settings))
    const stages = stagesOf(side, 0, contextOf(side, shown.frame, settings))
    return OUTCOMES.filter(outcome => problemsOf(stages, outcome).some(problem => shown.solves(problem)))
  } catch (error) {
    if (error instanceof Invalid) return undefined
    throw error
  }
}

it("the checker decides every request as `judge` does, or rejects it", { timeout }, () => {
  const seen = { rejected: 0, allow: 0, deny: 0, unauthenticated: 0, transport: 0 }
  const several = fc.array(requests, { minLength: 10, maxLength: 10 })
  assertUntilSeen(
    fc.property(sets, several, meshes, (set, all, settings) => {
      const mesh = meshConfig(settings)
      const replay = new Replay(policySide(set, workload, mesh))
      for (const request of all) {
        const { outcome } = replay.run(request, NOW)
        const claimed = claimable(set, mesh, request)
        if (claimed === undefined || outcome === undefined || outcome === "custom") seen.rejected++
        else seen[outcome]++
        if (claimed !== undefined) expect({ request, claimed }).toEqual({ request, claimed: [outcome] })
      }
    }),
    { numRuns: 200 * inject("effort") },
    seen,
    ...(["rejected", "allow", "deny", "unauthenticated", "transport"] as const),
  )
})

const parts = fc.record({
  set: sets,
  rule: policies.map(all => all.flatMap(({ spec }) => spec.rules ?? [])[0] ?? {}),
  holds: pick("never", "never", "always"),
})

/** Without one document, without one rule, and with a rule that everything matches. */
function similar(set: readonly PolicyDocument[], at: number): readonly (readonly PolicyDocument[])[] {
  return set.flatMap((document, index) => {
    const without = set.toSpliced(index, 1)
    if (document.kind !== "AuthorizationPolicy") return [without]
    const { rules: own = [] } = document.spec
    const changed = [own.toSpliced(at % Math.max(1, own.length), 1), [...own, {}]]
    return [without, ...changed.map(rules => set.with(index, { ...document, spec: { ...document.spec, rules } }))]
  })
}

function isValid(certificate: string, set: readonly PolicyDocument[]): boolean {
  try {
    return checked(certificate, [set]).length > 0
  } catch (error) {
    if (error instanceof Invalid) return false
    throw error
  }
}

it("the checker accepts no proof of similar policies for what `judge` contradicts", { timeout }, () => {
  const seen = { accepted: 0, rejected: 0, none: 0 }
  const property = fc.property(parts, meshes, fc.nat(), ({ set, rule, holds }, settings, at) => {
    const mesh = meshConfig(settings)
    const invariant: PolicyInvariant = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "PolicyInvariant",
      metadata: { name: "i", namespace: "foo" },
      spec: { [holds]: [{ name: "s", ...rule }] },
    }
    const options = { limits: { steps: 50_000 }, now: NOW }
    const ask = (of: readonly PolicyDocument[], verdicts?: Certificate) =>
      checkInvariants([invariant], of, [workload], mesh, { ...options, verdicts })
    const proved = certificateOf([[...set, invariant]], mesh, verdicts => void ask([...set, invariant], verdicts))
    if (proved === undefined || proved.includes('"broken":')) {
      seen.none++
      return
    }
    for (const edited of similar(set, at)) {
      const all = [...edited, invariant]
      const digests = all.flatMap(document => readPolicy(JSON.parse(JSON.stringify(document)), "default") ?? [])
      const named = digests.map(({ kind, namespace, name, digest }) => [`${kind} ${namespace}/${name}`, digest])
      const forged = `${canonical({ ...JSON.parse(proved), policies: [Object.fromEntries(named)] })}\n`
      const isAccepted = isValid(forged, all)
      seen[isAccepted ? "accepted" : "rejected"]++
      // Such a request was judged with these policies.
      if (isAccepted) expect(ask(all).map(({ result }) => result.verdict)).not.toContain("broken")
    }
  })
  assertUntilSeen(property, { numRuns: 100 * inject("effort") }, seen, "accepted", "rejected")
})
