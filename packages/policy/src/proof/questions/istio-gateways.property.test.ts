// SPDX-License-Identifier: Apache-2.0
// Random sets of Istio's policies with selectors and targets, at sidecars, gateways and waypoints. A proxy must decide as
// a sidecar does that has only the policies that a naive table attaches to the proxy, and no proof about the sets may
// contradict that.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import { meshNames } from "../../mesh/names.js"
import type { PeerAuthentication, PolicyDocument } from "../../resources/document.js"
import type { IstioGateway, Workload } from "../../selection/workload.js"
import { policySide } from "../policy-side.js"
import { DocumentsByNamespace } from "../selected.js"
import { judged, NOW, pairs, sent } from "../testing/token-sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { diffSets } from "./diff.js"
import { reachOf } from "./reach.js"

const ROOT = "istio-system"
const mesh = meshConfig({
  names: meshNames({ mesh: "istio", domain: "istio.io" }),
  dialect: "istio",
  numTrustedProxies: 1,
})
const OPTIONS = { now: NOW, limits: { steps: 300_000 } }

type Proxy = "sidecar" | "gateway" | "pods" | "service" | "afar" | "entry"
const GATEWAYS: Readonly<Record<Proxy, IstioGateway | undefined>> = {
  sidecar: undefined,
  gateway: { name: "g", isWaypoint: false },
  pods: { name: "g", isWaypoint: true },
  service: { name: "g", isWaypoint: true, target: { kind: "Service", namespace: "foo", name: "cart" } },
  afar: { name: "g", isWaypoint: true, target: { kind: "Service", namespace: "shop", name: "cart" } },
  entry: { name: "g", isWaypoint: true, target: { kind: "ServiceEntry", namespace: "foo", name: "cart" } },
}
const PROXIES: readonly Proxy[] = ["sidecar", "gateway", "pods", "service", "afar", "entry"]
const workloadOf = (proxy: Proxy): Workload => ({
  ...{ namespace: "foo", name: "web-1", labels: { app: "web" } },
  ...(GATEWAYS[proxy] && { gateway: GATEWAYS[proxy] }),
})
const SIDECAR = workloadOf("sidecar")

/** A scope of a policy as it is written, and the proxies to which Istio attaches such a policy. */
interface Written {
  readonly namespace: string
  readonly spec: object
  readonly at: readonly Proxy[]
}
const targeting = (kind: string, name: string) => ({ targetRefs: [{ kind, name }] })
const selecting = (app: string) => ({ selector: { matchLabels: { app } } })
const WAYPOINTS: readonly Proxy[] = ["pods", "service", "afar", "entry"]
const SCOPES: readonly Written[] = [
  { namespace: "foo", spec: {}, at: ["sidecar", "gateway"] },
  { namespace: ROOT, spec: {}, at: ["sidecar", "gateway"] },
  { namespace: "shop", spec: {}, at: [] },
  { namespace: "foo", spec: selecting("web"), at: ["sidecar", "gateway"] },
  { namespace: ROOT, spec: selecting("web"), at: ["sidecar", "gateway"] },
  { namespace: "foo", spec: selecting("api"), at: [] },
  { namespace: "foo", spec: targeting("Gateway", "g"), at: ["gateway", ...WAYPOINTS] },
  { namespace: "foo", spec: targeting("Gateway", "h"), at: [] },
  { namespace: "shop", spec: targeting("Gateway", "g"), at: [] },
  { namespace: ROOT, spec: targeting("GatewayClass", "istio-waypoint"), at: WAYPOINTS },
  { namespace: "foo", spec: targeting("GatewayClass", "istio-waypoint"), at: [] },
  { namespace: "foo", spec: targeting("Service", "cart"), at: ["service"] },
  { namespace: "shop", spec: targeting("Service", "cart"), at: ["afar"] },
  { namespace: "foo", spec: targeting("Service", "till"), at: [] },
  { namespace: "foo", spec: targeting("ServiceEntry", "cart"), at: ["entry"] },
]

const scope = fc.constantFrom(...SCOPES)
/** The scope of each document, by its name. */
const scopes = fc.record({ jwt: scope, allow: scope, deny: scope })
type Scopes = Readonly<Record<"jwt" | "allow" | "deny", Written>>

const scopeOf = ({ metadata: { name } }: PolicyDocument, by: Scopes): Written | undefined =>
  name === "jwt" || name === "allow" || name === "deny" ? by[name] : undefined

function placed(documents: readonly PolicyDocument[], by: Scopes): readonly PolicyDocument[] {
  return documents.map(document => {
    const written = scopeOf(document, by)
    if (written === undefined) return document
    const metadata = { ...document.metadata, namespace: written.namespace }
    return { ...document, metadata, spec: { ...document.spec, ...written.spec } } as PolicyDocument // the same kind
  })
}

/** What a sidecar of the namespace must have to decide as the proxy does. */
function naive(documents: readonly PolicyDocument[], by: Scopes, proxy: Proxy): readonly PolicyDocument[] {
  const attached = documents.filter(document => {
    const written = scopeOf(document, by)
    return written === undefined ? proxy === "sidecar" : written.at.includes(proxy)
  })
  if (proxy === "sidecar") return attached
  const mode = proxy === "gateway" ? "DISABLE" : "STRICT"
  const fixed: PeerAuthentication = {
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: { name: "fixed", namespace: "foo" },
    spec: { mtls: { mode } },
  }
  return [...attached, fixed]
}

const requests = fc.array(sent, { minLength: 25, maxLength: 25 })
const proxies = fc.constantFrom(...PROXIES)

it("decides and compares as the naive table does", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { equal: 0, different: 0, undecided: 0, sidecar: 0, gateway: 0, pods: 0, service: 0, afar: 0, entry: 0 }
  const changes = fc.option(scope, { nil: undefined })
  assertUntilSeen(
    fc.property(pairs, scopes, changes, proxies, requests, ([before, after], by, moved, proxy, some) => {
      const young: Scopes = moved === undefined ? by : { ...by, deny: moved }
      const [old, is] = [placed(before, by), placed(after, young)]
      const workload = workloadOf(proxy)
      const [was, now] = [naive(before, by, proxy), naive(after, young, proxy)].map(
        documents => policySide(documents, SIDECAR, mesh).program,
      )
      const [own, ours] = [old, is].map(documents => policySide(documents, workload, mesh).program)
      if (was === undefined || now === undefined || own === undefined || ours === undefined) return
      const { result, groups } = diffSets(old, is, [workload], mesh, OPTIONS)
      seen[result]++
      seen[proxy]++
      const received = groups.flatMap(({ comparison }) => comparison.changes.map(({ from, to }) => `${from} → ${to}`))
      const isComplete = groups.every(({ comparison }) => comparison.undecided === undefined)
      for (const one of some) {
        const [first, second] = [judged(was, one).outcome, judged(now, one).outcome]
        expect([judged(own, one).outcome, judged(ours, one).outcome]).toEqual([first, second])
        if (first === second) continue
        expect(result).not.toBe("equal")
        if (isComplete) expect(received).toContain(`${first} → ${second}`)
      }
    }),
    { numRuns: 120 * inject("effort") },
    seen,
    "equal",
    "different",
    ...PROXIES,
  )
})

it("lists who can call a proxy as the naive table does", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { some: 0, none: 0 }
  assertUntilSeen(
    fc.property(pairs, scopes, proxies, requests, ([set], by, proxy, some) => {
      const workload = workloadOf(proxy)
      const { documents } = new DocumentsByNamespace(placed(set, by), mesh).selected(workload)
      const { ways, undecided } = reachOf(documents, workload, mesh, {}, OPTIONS)
      if (undecided !== undefined) return
      seen[ways.length > 0 ? "some" : "none"]++
      const { program } = policySide(naive(set, by, proxy), SIDECAR, mesh)
      if (ways.length > 0) return
      for (const one of some) expect(judged(program, one).outcome).not.toBe("allow")
    }),
    { numRuns: 80 * inject("effort") },
    seen,
    "some",
    "none",
  )
})
