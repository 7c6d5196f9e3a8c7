// SPDX-License-Identifier: Apache-2.0
// Converts a VirtualService and the DestinationRules of its hosts into one MeshService: routes with expanded subsets, and
// how callers treat each destination.

import type { MeshNames } from "@merlon/policy/mesh"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { aboutOf, type Document, type Imported, type Remark, translatedMetadata } from "./imported.js"
import { routeTraffic, trafficPolicyOf } from "./traffic.js"

/** Fields of a route that say where requests go, with timeouts and retries. All other fields modify requests. */
const KNOWN_ROUTE = new Set(["name", "match", "route", "timeout", "retries"])

interface Subset {
  readonly labels: Fields
  /** Its sections override those of the rule. */
  readonly trafficPolicy: Fields
}

interface Rule {
  readonly subsets: ReadonlyMap<string, Subset>
  readonly trafficPolicy: Fields
}

export function importRoutes(documents: readonly Document[], names: MeshNames): Imported {
  const remarks: Remark[] = []
  const rules = new Map<string, Rule>()
  const destinationRules = documents.filter(({ object }) => object.kind === "DestinationRule")
  for (const { object, about } of destinationRules) {
    const host = shortHost(textOf(fieldsOf(object.spec).host) ?? "", object)
    rules.set(host, merged(rules.get(host), ruleOf(fieldsOf(object.spec), about, names, remarks)))
  }
  const kept = documents
    .filter(({ object }) => object.kind === "VirtualService")
    .flatMap(({ object, about }) => meshService(object, about, { names, rules, remarks }))
  const governed = new Set(
    kept.flatMap(object => listOf(fieldsOf(object.spec).hosts).map(host => shortHost(textOf(host) ?? "", object))),
  )
  const taken = new Set(kept.map(aboutOf))
  // A rule whose host has no routes still says how callers treat that host.
  const alone = destinationRules.flatMap(({ object }) => {
    const host = textOf(fieldsOf(object.spec).host) ?? ""
    const trafficPolicy = rules.get(shortHost(host, object))?.trafficPolicy ?? {}
    if (governed.has(shortHost(host, object)) || Object.keys(trafficPolicy).length === 0) return []
    governed.add(shortHost(host, object))
    const written = document(object, names, { hosts: [host], trafficPolicy, routes: [{ service: [{ host }] }] })
    const { name } = fieldsOf(written.metadata)
    return taken.has(aboutOf(written))
      ? [{ ...written, metadata: { ...fieldsOf(written.metadata), name: `${textOf(name) ?? ""}-rule` } }]
      : [written]
  })
  return { documents: [...kept, ...alone], remarks }
}

interface Context {
  readonly names: MeshNames
  readonly rules: ReadonlyMap<string, Rule>
  readonly remarks: Remark[]
}

function meshService(object: Fields, about: string, context: Context): readonly Fields[] {
  const spec = fieldsOf(object.spec)
  const lost = (message: string): readonly Fields[] => {
    context.remarks.push({ about, severity: "lost", message })
    return []
  }
  if (listOf(spec.gateways).some(gateway => gateway !== "mesh"))
    return lost("is for a gateway, which is no part of the mesh")
  if (spec.tcp !== undefined || spec.tls !== undefined)
    return lost("has routes of TCP or TLS; only `http` has a counterpart")
  const routes: {
    readonly match: readonly unknown[] | undefined
    readonly service: readonly Fields[]
    readonly traffic: Fields
  }[] = []
  for (const [at, value] of listOf(spec.http).entries()) {
    const route = fieldsOf(value)
    const unknown = Object.keys(route).filter(field => !KNOWN_ROUTE.has(field))
    if (unknown.length > 0)
      return lost(`\`http[].${unknown.join("`, `")}\` has no counterpart; leave it to the application`)
    const service: Fields[] = []
    for (const target of listOf(route.route).map(fieldsOf)) {
      const destination = fieldsOf(target.destination)
      const host = textOf(destination.host) ?? ""
      const rule = context.rules.get(shortHost(host, object))
      const name = textOf(destination.subset)
      const subset = name === undefined ? undefined : rule?.subsets.get(name)
      if (name !== undefined && subset === undefined)
        return lost(`the subset \`${name}\` of \`${host}\` is in no DestinationRule`)
      const trafficPolicy = { ...rule?.trafficPolicy, ...subset?.trafficPolicy }
      const port = fieldsOf(destination.port).number
      service.push({
        host,
        ...(subset === undefined ? {} : { name, labels: subset.labels }),
        ...(port === undefined ? {} : { port: { number: port } }),
        ...(target.weight === undefined ? {} : { weight: target.weight }),
        ...(Object.keys(trafficPolicy).length === 0 ? {} : { trafficPolicy }),
      })
    }
    const match = listOf(route.match).map(one => withoutName(fieldsOf(one)))
    const traffic = routeTraffic(route, `spec.http[${at}]`, context.names, lost)
    routes.push({ match: match.length === 0 ? undefined : match, service, traffic })
  }
  // Timeouts and retries of the MeshService would also apply to its rules, so a route that has some becomes a rule.
  const isLast = (at: number): boolean =>
    at === routes.length - 1 &&
    routes[at]?.match === undefined &&
    (at === 0 || Object.keys(routes[at]?.traffic ?? {}).length === 0)
  const matched = routes.filter((_, at) => !isLast(at))
  const last = routes.find((_, at) => isLast(at))
  return [
    document(object, context.names, {
      hosts: listOf(spec.hosts),
      ...(matched.length === 0
        ? {}
        : {
            rules: matched.map(({ match, service, traffic }) => ({
              ...(match === undefined ? {} : { match }),
              route: [{ service }],
              ...traffic,
            })),
          }),
      ...(last === undefined ? {} : { routes: [{ service: last.service }], ...last.traffic }),
    }),
  ]
}

function ruleOf(spec: Fields, about: string, names: MeshNames, remarks: Remark[]): Rule {
  const policy = (owner: Fields, path: string): Fields =>
    trafficPolicyOf(fieldsOf(owner.trafficPolicy), path, names, message =>
      remarks.push({ about, severity: "lost", message }),
    )
  const subsets = listOf(spec.subsets).map(fieldsOf)
  return {
    subsets: new Map(
      subsets.map((subset, at) => [
        textOf(subset.name) ?? "",
        { labels: fieldsOf(subset.labels), trafficPolicy: policy(subset, `spec.subsets[${at}].trafficPolicy`) },
      ]),
    ),
    trafficPolicy: policy(spec, "spec.trafficPolicy"),
  }
}

/** Istio merges several rules of one host: the first value of a field wins. */
function merged(first: Rule | undefined, next: Rule): Rule {
  if (first === undefined) return next
  const isSilent = Object.keys(first.trafficPolicy).length === 0
  return {
    subsets: new Map([...next.subsets, ...first.subsets]),
    trafficPolicy: isSilent ? next.trafficPolicy : first.trafficPolicy,
  }
}

function document(object: Fields, names: MeshNames, spec: Fields): Fields {
  const metadata = translatedMetadata(object, names)
  return { apiVersion: `${names.networkingGroup}/${names.version}`, kind: "MeshService", metadata, spec }
}

/** Names of matches matter only for telemetry. */
function withoutName(written: Fields): Fields {
  const { name: _, ...match } = written
  return match
}

/** `web`, `web.app` and the full name are the same host. A short name is in the document's own namespace. */
function shortHost(host: string, object: Fields): string {
  const [name = "", namespace = textOf(fieldsOf(object.metadata).namespace) ?? "default"] = host.split(".")
  return `${name}.${namespace}`
}
