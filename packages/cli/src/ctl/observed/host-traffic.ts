// SPDX-License-Identifier: Apache-2.0
// How callers treat the Services of a workload: the MeshService that governs each, and its TLS, time limits, retries,
// balancing, limits and ejection. Pure: documents in, rows out.

import type { Destination, MeshService, TrafficPolicy } from "@merlon/policy/resources"
import { byAge } from "@merlon/policy/selection"

export interface HostTraffic {
  readonly service: string
  /** `namespace/name`. */
  readonly meshService: string
  /** The requests or connections that the settings apply to. */
  readonly scope: string
  readonly settings: { readonly [field: string]: string }
}

interface Place {
  readonly namespace: string
  readonly rootNamespace: string
}

/**
 * The traffic settings of Services in the namespace. Services without a MeshService, in their own or the root
 * namespace, are left out.
 */
export function hostTraffic(
  services: readonly string[],
  documents: readonly MeshService[],
  { namespace, rootNamespace }: Place,
): readonly HostTraffic[] {
  return services.flatMap(service => {
    const named = documents.filter(document => document.spec.hosts.some(host => isHost(host, document, service)))
    const own = named.filter(({ metadata }) => metadata.namespace === namespace).toSorted(byAge)
    const root = named.filter(({ metadata }) => metadata.namespace === rootNamespace).toSorted(byAge)
    const [governing] = [...own, ...root]
    return governing === undefined ? [] : rowsOf(service, governing)
  })
  function isHost(host: string, { metadata }: MeshService, service: string): boolean {
    const spelt = host.toLowerCase().replace(/\.$/, "")
    const full = `${service}.${namespace}`
    if (spelt === service) return metadata.namespace === namespace
    return spelt === full || spelt === `${full}.svc` || spelt.startsWith(`${full}.svc.`)
  }
}

function rowsOf(service: string, { metadata, spec }: MeshService): readonly HostTraffic[] {
  const row = (scope: string, settings: HostTraffic["settings"]): HostTraffic => ({
    service,
    meshService: `${metadata.namespace}/${metadata.name}`,
    scope,
    settings,
  })
  const all = row("all requests", { ...connecting(spec.trafficPolicy), ...sending(spec) })
  const rules = (spec.rules ?? []).map((rule, at) => row(`spec.rules[${at}]`, sending(rule)))
  const lists = [...(spec.rules ?? []).flatMap(({ route = [], routes = [] }) => [route, routes]), spec.routes ?? []]
  const destinations = lists.flat().flatMap(({ service: destinations = [] }) => destinations)
  const to = destinations.map(destination => row(destinationName(destination), connecting(destination.trafficPolicy)))
  const rows = [...rules, ...to].filter(({ settings }) => Object.keys(settings).length > 0)
  const distinct = new Map(rows.map(each => [JSON.stringify(each), each]))
  return [all, ...distinct.values()]
}

function destinationName({ host, name }: Destination): string {
  return `to ${host}${name === undefined ? "" : ` ${name}`}`
}

function sending({ timeout, retries }: Pick<MeshService["spec"], "timeout" | "retries">): HostTraffic["settings"] {
  return {
    ...(timeout === undefined ? {} : { timeout }),
    ...(retries === undefined ? {} : { retries: words({ ...retries }) }),
  }
}

function connecting({
  tls,
  loadBalancer,
  connectionPool,
  outlierDetection,
}: TrafficPolicy = {}): HostTraffic["settings"] {
  const { tcp = {}, http = {} } = connectionPool ?? {}
  // Both sections have an `idleTimeout`.
  const limits = { ...prefixed("tcp", tcp), ...prefixed("http", http) }
  return {
    ...(tls?.mode === undefined ? {} : { tls: tls.mode }),
    ...(loadBalancer?.simple === undefined ? {} : { loadBalancer: loadBalancer.simple }),
    ...(connectionPool === undefined ? {} : { connectionPool: words(limits) }),
    ...(outlierDetection === undefined ? {} : { outlierDetection: words({ ...outlierDetection }) }),
  }
}

function prefixed(section: string, fields: object): { readonly [field: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${section}.${name}`, value]))
}

function words(fields: { readonly [field: string]: unknown }): string {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return present.length === 0 ? "default" : present.map(([name, value]) => `${name} ${String(value)}`).join(", ")
}
