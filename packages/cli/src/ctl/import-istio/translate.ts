// SPDX-License-Identifier: Apache-2.0
// Converts manifests for Istio. Pure: documents in, documents and remarks out. Nothing is dropped silently: what has no
// counterpart is named, with an alternative. A security policy that cannot be converted completely is not converted at
// all, since a part could allow callers that the whole denies.

import type { MeshNames } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { aboutOf, type Document, type Imported, type Remark, translatedMetadata, withoutStatus } from "./imported.js"
import { importProviders } from "./providers.js"
import { importRoutes } from "./routes.js"

const SECURITY = ["RequestAuthentication", "AuthorizationPolicy", "PeerAuthentication"]
const ROUTING = ["VirtualService", "DestinationRule"]
const ISTIO = /^(?:[a-z]+\.)?istio\.io\//
const INSTEAD: { readonly [kind: string]: string } = {
  Gateway: "traffic from outside enters through a gateway of the cluster; put it into the mesh as a workload",
  ServiceEntry: "hosts outside of the mesh are called as they are",
  Sidecar: "a proxy gets only what concerns it, without being told",
  EnvoyFilter: "xserver is no Envoy",
  WasmPlugin: "xserver runs no plugins",
  Telemetry: "metrics and logs are settings of xserver",
  WorkloadEntry: "declare it with `merlonctl workload add`",
  WorkloadGroup: "declare its members with `merlonctl workload add`",
  ProxyConfig: "resources of proxies are values of the installation",
}

export function importIstio(documents: readonly unknown[], names: MeshNames): Imported {
  const remarks: Remark[] = []
  const kept: Fields[] = []
  const routing: Document[] = []
  for (const value of documents) {
    const object = fieldsOf(value)
    const kind = textOf(object.kind) ?? ""
    const document = { object, about: aboutOf(object) }
    kept.push(...importProviders(document, names, remarks))
    if (!ISTIO.test(textOf(object.apiVersion) ?? "")) kept.push(relabelled(document, names, remarks))
    else if (SECURITY.includes(kind)) kept.push(...securityPolicy(document, names, remarks))
    else if (ROUTING.includes(kind)) routing.push(document)
    else {
      const message = `has no counterpart: ${INSTEAD[kind] ?? "nothing here means the same"}`
      remarks.push({ about: document.about, severity: "lost", message })
    }
  }
  const routes = importRoutes(routing, names)
  remarks.push(...routes.remarks)
  for (const object of routes.documents) kept.push(...valid({ object, about: aboutOf(object) }, names, remarks))
  return { documents: kept, remarks }
}

function securityPolicy(document: Document, names: MeshNames, remarks: Remark[]): readonly Fields[] {
  const { object, about } = document
  const metadata = translatedMetadata(object, names)
  const translated: Fields = {
    ...object,
    apiVersion: `${names.securityGroup}/${names.version}`,
    metadata,
    ...(object.spec === undefined ? {} : { spec: inOurWords(object.spec) }),
  }
  const before = textOf(fieldsOf(object.metadata).namespace)
  if (before !== undefined && before !== metadata.namespace) {
    const message = `moves from the root namespace \`${before}\` to ours, \`${names.rootNamespace}\``
    remarks.push({ about, severity: "changed", message })
  }
  const targets = listOf(fieldsOf(translated.spec).targetRefs).map(target => textOf(fieldsOf(target).kind))
  if (targets.some(kind => kind === "Service")) {
    const message = "is enforced by the proxies of the workloads behind its targets; there are no waypoints"
    remarks.push({ about, severity: "changed", message })
  }
  if (targets.some(kind => kind === "Gateway")) {
    const message = `is enforced only by \`merlond authorizer\` with the label \`${names.gatewayLabels.Gateway}\`, which the gateway must ask`
    remarks.push({ about, severity: "changed", message })
  }
  return valid({ object: withoutStatus(translated), about }, names, remarks)
}

/** Accepts a document completely or not at all, with the validator's errors. */
function valid({ object, about }: Document, names: MeshNames, remarks: Remark[]): readonly Fields[] {
  const { errors } = validate(object, names)
  for (const { path, message } of errors) remarks.push({ about, severity: "lost", message: `\`${path}\`: ${message}` })
  return errors.length === 0 ? [object] : []
}

/** Converts Istio's labels and annotations on namespaces and workloads. */
function relabelled({ object, about }: Document, names: MeshNames, remarks: Remark[]): Fields {
  const text = JSON.stringify(object)
  const changed = inOurNames(text, names)
  if (changed === text) return object
  remarks.push({
    about,
    severity: "changed",
    message: `is opted in by \`${names.injectionLabel}\` and \`${names.injectLabel}\``,
  })
  return fieldsOf(JSON.parse(changed))
}

function inOurNames(text: string, names: MeshNames): string {
  return text
    .replaceAll('"istio-injection":', `"${names.injectionLabel}":`)
    .replaceAll('"sidecar.istio.io/inject":', `"${names.injectLabel}":`)
}

/** Renames fields that older documents spell differently. */
function inOurWords(spec: unknown): unknown {
  const { jwtRules, jwt_rules, targetRef, targetRefs, ...others } = fieldsOf(spec)
  const rules = jwtRules ?? jwt_rules
  const targets = targetRefs ?? (targetRef === undefined ? undefined : [targetRef])
  const rest = targets === undefined ? others : { ...others, targetRefs: targets }
  return rules === undefined ? rest : { ...rest, jwtRules: listOf(rules).map(rule => keyUri(fieldsOf(rule))) }
}

function keyUri({ jwks_uri, jwksUri = jwks_uri, ...rule }: Fields): Fields {
  return jwksUri === undefined ? rule : { ...rule, jwksUri }
}
