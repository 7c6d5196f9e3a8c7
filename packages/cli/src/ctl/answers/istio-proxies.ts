// SPDX-License-Identifier: Apache-2.0
// The workloads that decide in place of a sidecar in Istio: a gateway, and a waypoint for each Service that uses it,
// because policies may target one Service. From Gateways, Services, ServiceEntries and Namespaces that were read.

import { isDeepStrictEqual } from "node:util"
import type { ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import type { InputLog, Scope } from "./inputs.js"
import { GATEWAY_NAME, isGateway, isGatewayClass, NOT_READY, type ReadGateway, readGateway } from "./istio-gateways.js"

const USE = "istio.io/use-waypoint"
const USE_NAMESPACE = "istio.io/use-waypoint-namespace"
const OF_ISTIO = /(^|\.)istio\.io\//
const MANAGED = "gateway.istio.io/managed"

type Captured = "Service" | "ServiceEntry"

/** The waypoint that requests to a Service pass. */
export type WaypointUse =
  | { readonly waypoint: ReadGateway; readonly isCertain: boolean }
  | { readonly none: string }
  | { readonly unknown: string }

interface Found {
  readonly namespace: string
  readonly object: Fields
}

export class IstioProxies {
  readonly #gateways = new Map<string, ReadGateway>()
  readonly #captured = { Service: new Map<string, Found>(), ServiceEntry: new Map<string, Found>() }
  readonly #namespaces = new Map<string, Fields>()
  /** Documents of which two versions were read that differ. */
  readonly #differing: { readonly what: string; readonly scope: Scope }[] = []
  /** Gateways without Pods among the workloads. */
  readonly #implied = new Map<string, ReadGateway>()

  /** `otherwise`: the namespace of documents that name none. Of two versions the later one counts. */
  constructor(objects: readonly unknown[], otherwise: string) {
    const all = objects.map(fieldsOf)
    const classes = new Map(all.filter(isGatewayClass).map(one => [textOf(fieldsOf(one.metadata).name) ?? "", one]))
    const bySelector = all.some(one => isGateway(one) && JSON.stringify(one.spec ?? {}).includes('"Selector"'))
    const before = new Map<string, Fields>()
    for (const object of all) {
      const metadata = fieldsOf(object.metadata)
      const [name = "", namespace = otherwise] = [textOf(metadata.name), textOf(metadata.namespace)]
      const id = `${namespace}/${name}`
      if (isGateway(object)) {
        const gateway = readGateway(object, classes, otherwise)
        if (gateway !== undefined) this.#gateways.set(id, gateway)
        const annotated = Object.entries(textsOf(metadata.annotations)).filter(([key]) => OF_ISTIO.test(key))
        const parts = [metadata.labels, Object.fromEntries(annotated), object.spec]
        this.#compare(before, `Gateway ${id}`, parts, one => {
          return one.namespace === namespace && (one.gateway?.name ?? one.labels[GATEWAY_NAME]) === name
        })
      } else if (object.kind === "Namespace") {
        this.#namespaces.set(name, textsOf(metadata.labels))
        const parts = bySelector ? [textsOf(metadata.labels)] : useOf(metadata.labels)
        this.#compare(before, `Namespace ${name}`, parts, isAtWaypoint)
      } else if (object.kind === "Service" || isServiceEntry(object)) {
        this.#captured[object.kind === "Service" ? "Service" : "ServiceEntry"].set(id, { namespace, object })
        this.#compare(before, `${String(object.kind)} ${id}`, useOf(metadata.labels), isAtWaypoint)
      }
    }
  }

  #compare(before: Map<string, Fields>, title: string, parts: readonly unknown[], scope: Scope): void {
    const known = before.get(title)
    before.set(title, { parts })
    if (known === undefined || isDeepStrictEqual(known.parts, parts)) return
    const what = `${title}: not modelled: two versions of it differ, and the answer is about the later one`
    this.#differing.push({ what, scope })
  }

  /** The workloads, with the proxies of Gateways in place of their Pods. */
  workloads(read: readonly ProofWorkload[], log: Pick<InputLog, "skip" | "miss">): readonly ProofWorkload[] {
    for (const { what, scope } of this.#differing) log.skip(what, scope)
    const deployed = new Set<string>()
    const placed = read.flatMap(workload => {
      const one = this.placed(workload, log)
      if (one.gateway !== undefined) deployed.add(`${one.namespace}/${one.gateway.name}`)
      return one.gateway?.isWaypoint === true ? [] : [one]
    })
    for (const [id, gateway] of this.#gateways) {
      if (gateway.isWaypoint && gateway.why === undefined) placed.push(...this.#waypoint(gateway, log))
      else if (gateway.isWaypoint && gateway.why !== NOT_READY) log.miss(`Gateway ${id}: not modelled: ${gateway.why}`)
      else if (!gateway.isWaypoint && !deployed.has(id) && gateway.isOfIstio) {
        if (gateway.why !== undefined) log.miss(`Gateway ${id}: not modelled: ${gateway.why}`)
        else placed.push(gatewayProxy(gateway))
        this.#implied.set(id, gateway)
      }
    }
    return placed
  }

  /** The workload, with its Gateway if it is a proxy of one. A waypoint that names one Service is about that Service. */
  placed<T extends Workload>(workload: T, log: Pick<InputLog, "skip">): T {
    const { namespace, services = [] } = workload
    const name = gatewayNameOf(workload)
    if (name === undefined) return workload
    const gateway = this.#gateways.get(`${namespace}/${name}`)
    const why = gateway === undefined ? "which was not read" : gateway.why && `which is not modelled: ${gateway.why}`
    if (gateway === undefined || why !== undefined) {
      const what = `${namespace}/${workload.name}: not modelled: it is a proxy of Gateway ${namespace}/${name}, ${why}`
      log.skip(what, one => one.namespace === namespace && one.name === workload.name)
      return workload
    }
    const { isWaypoint } = gateway
    const [service, ...others] = services
    const isAbout = isWaypoint && service !== undefined && others.length === 0
    const target = isAbout && { target: { kind: "Service", namespace, name: service } as const }
    return { ...workload, gateway: { name, isWaypoint, ...target } }
  }

  /** One workload for each Service that uses the waypoint, and one for requests to addresses of Pods. */
  #waypoint(gateway: ReadGateway, log: Pick<InputLog, "skip" | "miss">): readonly ProofWorkload[] {
    const { namespace, name, serviceAccount, labels } = gateway
    const base = { namespace, labels, serviceAccount, ports: [] }
    const views: ProofWorkload[] = []
    for (const kind of ["Service", "ServiceEntry"] as const) {
      for (const [id, { namespace: place, object }] of this.#captured[kind]) {
        const use = this.waypointOf(kind, id)
        const called = textOf(fieldsOf(object.metadata).name) ?? ""
        if ("unknown" in use && (place === namespace || gateway.allows(place, this.#namespaces.get(place)) !== false))
          log.miss(`${kind} ${id}: not modelled: it may use a waypoint: ${use.unknown}`)
        if (!("waypoint" in use) || use.waypoint !== gateway) continue
        const key = `${kind === "Service" ? "" : "ServiceEntry/"}${place === namespace ? "" : `${place}/`}${called}`
        const view: ProofWorkload = {
          ...base,
          name: `${name}:${key}`,
          services: kind === "Service" && place === namespace ? [called] : [],
          ports: portsOf(object),
          host: hostOf(kind, called, place, object),
          gateway: { name, isWaypoint: true, target: { kind, namespace: place, name: called } },
        }
        views.push(view)
        if (use.isCertain) continue
        const what = `${kind} ${id}: not modelled: whether waypoint ${namespace}/${name} allows it depends on the labels of Namespace ${place}, which was not read`
        log.skip(what, one => one.namespace === namespace && one.name === view.name)
      }
    }
    const isForPods = gateway.traffic === "workload" || gateway.traffic === "all"
    if (isForPods || views.length === 0) views.push({ ...base, name, gateway: { name, isWaypoint: true } })
    return views
  }

  get hasWaypoints(): boolean {
    return [...this.#gateways.values()].some(({ isWaypoint }) => isWaypoint)
  }

  gateway(namespace: string, name: string): ReadGateway | undefined {
    return this.#gateways.get(`${namespace}/${name}`)
  }

  /** The waypoint of a Service or ServiceEntry; undefined if it was not read. `id`: `NAMESPACE/NAME`. */
  waypointOf(kind: Captured, id: string): WaypointUse {
    const found = this.#captured[kind].get(id)
    if (found === undefined) return { unknown: "it was not read" }
    const { namespace, object } = found
    const own = textsOf(fieldsOf(object.metadata).labels)
    if (own[MANAGED] === "istio.io-mesh-controller") return { none: "is that of a waypoint" }
    const inherited = this.#namespaces.get(namespace)
    const labels = Object.hasOwn(own, USE) ? own : textsOf(inherited)
    const name = labels[USE]
    if (name === undefined && inherited === undefined) return { unknown: `Namespace ${namespace} was not read` }
    if (name === undefined || name === "none") return { none: "uses no waypoint" }
    const at = `${labels[USE_NAMESPACE] ?? namespace}/${name}`
    const waypoint = this.#gateways.get(at)
    if (waypoint === undefined) return { unknown: `its waypoint ${at} was not read` }
    if (waypoint.why !== undefined) return { unknown: `its waypoint ${at} is not modelled: ${waypoint.why}` }
    if (!waypoint.isWaypoint) return { unknown: `Gateway ${at} is no waypoint` }
    if (waypoint.traffic !== "service" && waypoint.traffic !== "all")
      return { none: `uses the waypoint ${at}, which is not for Services` }
    const isAllowed = waypoint.allows(namespace, inherited)
    if (isAllowed === false) return { none: `uses the waypoint ${at}, which does not allow its namespace` }
    return { waypoint, isCertain: isAllowed === true }
  }

  /** Logs policies that may select the Pods that Istio creates for a Gateway, by labels that are not known. */
  logSelectors(policies: readonly PolicyDocument[], rootNamespace: string, log: Pick<InputLog, "skip">): void {
    for (const { kind, metadata, spec } of policies) {
      if (kind !== "AuthorizationPolicy" && kind !== "RequestAuthentication") continue
      const wanted = Object.entries(spec.selector?.matchLabels ?? {})
      for (const gateway of this.#implied.values()) {
        const { namespace, name, labels, deployment } = gateway
        const isNear = metadata.namespace === namespace || metadata.namespace === rootNamespace
        const open = wanted.filter(([key]) => !Object.hasOwn(labels, key))
        const mayMatch = wanted.every(([key, value]) =>
          Object.hasOwn(labels, key) ? labels[key] === value : gateway.mayHave(key),
        )
        if (!isNear || open.length === 0 || !mayMatch) continue
        log.skip(
          `${kind} ${metadata.namespace}/${metadata.name}: Istio may give the label \`${open[0]?.[0]}\` to the Pods of Gateway ${namespace}/${name}; describe them as a Deployment with their labels`,
          one => one.namespace === namespace && one.name === deployment,
        )
      }
    }
  }
}

/** The Gateway that a Pod is a proxy of, by its label. */
export const gatewayNameOf = ({ labels }: Pick<Workload, "labels">): string | undefined =>
  Object.hasOwn(labels, GATEWAY_NAME) ? labels[GATEWAY_NAME] : undefined

const isServiceEntry = ({ apiVersion, kind }: Fields): boolean =>
  kind === "ServiceEntry" && textOf(apiVersion)?.startsWith("networking.istio.io/") === true

const useOf = (labels: unknown): readonly unknown[] => [textsOf(labels)[USE], textsOf(labels)[USE_NAMESPACE]]

const isAtWaypoint: Scope = ({ gateway }) => gateway?.isWaypoint === true

function gatewayProxy({
  namespace,
  name,
  deployment,
  labels,
  serviceAccount,
  ports,
  host,
}: ReadGateway): ProofWorkload {
  const own = `${deployment}.${namespace}`
  const [port = 80] = ports
  return {
    ...{ namespace, name: deployment, labels, services: [deployment], serviceAccount, ports },
    host: port === 80 ? (host ?? own) : `${host ?? own}:${port}`,
    gateway: { name, isWaypoint: false },
  }
}

const portsOf = ({ spec }: Fields): readonly number[] => {
  const found = listOf(fieldsOf(spec).ports).map(fieldsOf)
  return found.flatMap(({ number, port = number }) => (typeof port === "number" ? [port] : []))
}

function hostOf(kind: Captured, name: string, namespace: string, object: Fields): string {
  const [host] = listOf(fieldsOf(object.spec).hosts).flatMap(one => textOf(one) ?? [])
  const [port = 80] = portsOf(object)
  const at = kind === "ServiceEntry" && host !== undefined && !host.includes("*") ? host : `${name}.${namespace}`
  return port === 80 ? at : `${at}:${port}`
}
