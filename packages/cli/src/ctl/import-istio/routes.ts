// SPDX-License-Identifier: Apache-2.0
// A VirtualService and the DestinationRules of its hosts become one MeshService: routes with their subsets written out,
// and the TLS mode of the callers.

import type { MeshNames } from "@merlon/policy/mesh"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { type Document, type Imported, type Remark, translatedMetadata } from "./imported.js"

const MODES: { readonly [mode: string]: string } = { ISTIO_MUTUAL: "DUBBO_MUTUAL", DISABLE: "DISABLE" }
/** Of a route: what says where requests go. Everything else changes them on the way. */
const KNOWN_ROUTE = new Set(["name", "match", "route"])

interface Rule {
  readonly subsets: ReadonlyMap<string, Fields>
  readonly mode: string | undefined
}

export function importRoutes(documents: readonly Document[], names: MeshNames): Imported {
  const remarks: Remark[] = []
  const rules = new Map<string, Rule>()
  const used = new Set<string>()
  const services = documents.filter(({ object }) => object.kind === "VirtualService")
  for (const { object, about } of documents.filter(({ object }) => object.kind === "DestinationRule")) {
    const spec = fieldsOf(object.spec)
    rules.set(shortHost(textOf(spec.host) ?? "", object), ruleOf(spec, about, remarks))
  }
  const kept = services.flatMap(({ object, about }) => meshService(object, about, { names, rules, used, remarks }))
  // A rule without routes of its own still says how its host is called.
  const alone = documents
    .filter(({ object }) => object.kind === "DestinationRule")
    .flatMap(({ object }) => {
      const host = textOf(fieldsOf(object.spec).host) ?? ""
      const mode = rules.get(shortHost(host, object))?.mode
      return used.has(shortHost(host, object)) || mode === undefined
        ? []
        : [
            document(object, names, {
              hosts: [host],
              trafficPolicy: { tls: { mode } },
              routes: [{ service: [{ host }] }],
            }),
          ]
    })
  return { documents: [...kept, ...alone], remarks }
}

interface Context {
  readonly names: MeshNames
  readonly rules: ReadonlyMap<string, Rule>
  readonly used: Set<string>
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
  const routes: { readonly match: readonly unknown[] | undefined; readonly service: readonly Fields[] }[] = []
  for (const value of listOf(spec.http)) {
    const route = fieldsOf(value)
    const unknown = Object.keys(route).filter(field => !KNOWN_ROUTE.has(field))
    if (unknown.length > 0)
      return lost(`\`http[].${unknown.join("`, `")}\` has no counterpart; leave it to the application`)
    const service: Fields[] = []
    for (const target of listOf(route.route).map(fieldsOf)) {
      const destination = fieldsOf(target.destination)
      const host = textOf(destination.host) ?? ""
      const rule = context.rules.get(shortHost(host, object))
      context.used.add(shortHost(host, object))
      const subset = textOf(destination.subset)
      const labels = subset === undefined ? undefined : rule?.subsets.get(subset)
      if (subset !== undefined && labels === undefined)
        return lost(`the subset \`${subset}\` of \`${host}\` is in no DestinationRule`)
      const port = fieldsOf(destination.port).number
      service.push({
        host,
        ...(subset === undefined ? {} : { name: subset, labels }),
        ...(port === undefined ? {} : { port: { number: port } }),
        ...(target.weight === undefined ? {} : { weight: target.weight }),
        ...(rule?.mode === undefined ? {} : { trafficPolicy: { tls: { mode: rule.mode } } }),
      })
    }
    const match = listOf(route.match).map(one => withoutName(fieldsOf(one)))
    routes.push({ match: match.length === 0 ? undefined : match, service })
  }
  const isLast = (at: number): boolean => at === routes.length - 1 && routes[at]?.match === undefined
  const matched = routes.filter((_, at) => !isLast(at))
  const last = routes.find((_, at) => isLast(at))
  return [
    document(object, context.names, {
      hosts: listOf(spec.hosts),
      ...(matched.length === 0
        ? {}
        : {
            rules: matched.map(({ match, service }) => ({
              ...(match === undefined ? {} : { match }),
              route: [{ service }],
            })),
          }),
      ...(last === undefined ? {} : { routes: [{ service: last.service }] }),
    }),
  ]
}

function ruleOf(spec: Fields, about: string, remarks: Remark[]): Rule {
  const { tls, ...others } = fieldsOf(spec.trafficPolicy)
  const written = textOf(fieldsOf(tls).mode)
  if (Object.keys(others).length > 0) {
    const message = `\`trafficPolicy.${Object.keys(others).join("`, `")}\` has no counterpart and is left out; who is called stays the same`
    remarks.push({ about, severity: "changed", message })
  }
  if (written !== undefined && MODES[written] === undefined) {
    remarks.push({
      about,
      severity: "lost",
      message: `the TLS mode \`${written}\` has no counterpart; callers decide by the destination's own`,
    })
  }
  const subsets = listOf(spec.subsets).map(fieldsOf)
  return {
    subsets: new Map(subsets.map(({ name, labels }) => [textOf(name) ?? "", fieldsOf(labels)])),
    mode: written === undefined ? undefined : MODES[written],
  }
}

function document(object: Fields, names: MeshNames, spec: Fields): Fields {
  const metadata = translatedMetadata(object, names)
  return { apiVersion: `${names.networkingGroup}/${names.version}`, kind: "MeshService", metadata, spec }
}

/** Names of matches are for telemetry alone. */
function withoutName(written: Fields): Fields {
  const { name: _, ...match } = written
  return match
}

/** `web`, `web.app` and the full name are one host; a short one is in the document's own namespace. */
function shortHost(host: string, object: Fields): string {
  const [name = "", namespace = textOf(fieldsOf(object.metadata).namespace) ?? "default"] = host.split(".")
  return `${name}.${namespace}`
}
