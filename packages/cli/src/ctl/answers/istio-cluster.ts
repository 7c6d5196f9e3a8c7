// SPDX-License-Identifier: Apache-2.0
// Reads a live cluster that runs Istio, without any of our kinds and without changes: its policies in the version that
// it serves, and its mesh configuration.

import { type Api, ApiError } from "@merlon/control/kubernetes"
import { Catalog } from "../catalog/catalog.js"
import { knownKinds } from "../catalog/known-kinds.js"
import { coreResource, type Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { installedMeshes } from "../mesh/discover-mesh.js"
import type { Session } from "../session.js"
import { visible } from "../terminal.js"
import { type DialectFlags, ISTIO, isIstio } from "./dialect.js"
import { GATEWAY_GROUP } from "./istio-gateways.js"

/** The session for a question: in Istio's dialect if flags say so, or if the cluster has only Istio's policies. */
export async function askedSession(session: Session, flags: DialectFlags): Promise<Session> {
  const { api, names, installed } = session
  if (flags.dialect === "merlon") return session
  const isNamed = flags.mesh !== undefined || flags.domain !== undefined
  const isMeant =
    flags.dialect === "istio" ||
    (isNamed ? isIstio(names) && !(await isMeshOfOurs(api)) : !installed && (await servesIstio(api)))
  return isMeant ? { ...session, names: ISTIO, catalog: new Catalog(api, ISTIO), dialect: "istio" } : session
}

/** Whether a mesh of ours uses Istio's names. */
async function isMeshOfOurs(api: Api): Promise<boolean> {
  return (await installedMeshes(api)).some(({ domain }) => domain === ISTIO.domain)
}

const servesIstio = async (api: Api): Promise<boolean> => (await versionsOf(api, ISTIO.securityGroup)).length > 0

/** The served versions, the preferred one first. Empty if the group is not served. */
async function versionsOf(api: Api, group: string): Promise<readonly string[]> {
  const { preferredVersion, versions } = fieldsOf(await found(api, `/apis/${group}`))
  const named = [preferredVersion, ...listOf(versions)].flatMap(one => textOf(fieldsOf(one).version) ?? [])
  return [...new Set(named)]
}

async function found(api: Api, path: string): Promise<unknown> {
  try {
    return await api.request({ method: "GET", path })
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return {}
    throw error
  }
}

const POLICIES: readonly string[] = ["AuthorizationPolicy", "RequestAuthentication", "PeerAuthentication"]
/** Kinds that can change which requests a proxy allows, but are not in our model. */
const OTHERS: readonly { readonly group: string; readonly kind: string }[] = [
  { group: "networking.istio.io", kind: "EnvoyFilter" },
  { group: "networking.istio.io", kind: "Sidecar" },
  { group: "networking.istio.io", kind: "WorkloadEntry" },
  { group: "extensions.istio.io", kind: "WasmPlugin" },
  { group: "extensions.istio.io", kind: "TrafficExtension" },
]

/** Every kind that answers depend on, as the cluster serves it. */
export async function istioKinds({ api, names }: Session): Promise<readonly Resource[]> {
  const [version] = await versionsOf(api, names.securityGroup)
  if (version === undefined) {
    throw new CommandError(
      "unserved-kind",
      `the cluster serves no \`${names.securityGroup}\`: Istio is not installed there; leave out \`--dialect\`, or choose another context with \`--context\``,
    )
  }
  const policies = knownKinds(names).filter(({ kind }) => POLICIES.includes(kind))
  const others = await Promise.all(OTHERS.map(({ group, kind }) => served(api, group, kind)))
  return [...policies.map(resource => ({ ...resource, version })), ...others.flatMap(one => one ?? [])]
}

/** Looks up a kind. It may be served in another version than the preferred one of its group. */
async function served(api: Api, group: string, kind: string): Promise<Resource | undefined> {
  for (const version of await versionsOf(api, group)) {
    const { resources } = fieldsOf(await found(api, `/apis/${group}/${version}`))
    const plural = listOf(resources)
      .map(fieldsOf)
      .find(one => one.kind === kind && !String(one.name).includes("/"))?.name
    if (typeof plural !== "string") continue
    return { ...coreResource(plural, kind, kind !== "GatewayClass"), group, version }
  }
  return undefined
}

/** Kinds that say where the proxies of Gateways are, and which Services use a waypoint. */
const AT_GATEWAYS: readonly { readonly group: string; readonly kind: string }[] = [
  { group: GATEWAY_GROUP, kind: "Gateway" },
  { group: GATEWAY_GROUP, kind: "GatewayClass" },
  { group: "networking.istio.io", kind: "ServiceEntry" },
]

/** Objects of these kinds, and Namespaces. Kinds that the user may not list are left out, so targets stay open. */
export async function gatewayObjects(session: Session): Promise<readonly Fields[]> {
  const kinds = await Promise.all(AT_GATEWAYS.map(({ group, kind }) => served(session.api, group, kind)))
  const objects = await Promise.all(kinds.flatMap(kind => (kind === undefined ? [] : [allowed(session, kind)])))
  const namespaces = (await storedNamespaces(session)).map(one => ({ ...one, kind: "Namespace" }))
  return [...objects.flat(), ...namespaces]
}

async function allowed(session: Session, resource: Resource): Promise<readonly Fields[]> {
  try {
    return (await listObjects(session, resource, EVERYWHERE)).items
  } catch (error) {
    if (error instanceof ApiError && (error.code === 403 || error.code === 404)) return []
    throw error
  }
}

const EVERYWHERE = { allNamespaces: true } as GetFlags // it reads only filters

/** The Namespaces. Empty if the user may not list them. */
export async function storedNamespaces(session: Session): Promise<readonly Fields[]> {
  try {
    return (await listObjects(session, coreResource("namespaces", "Namespace", false), {} as GetFlags)).items // it reads only filters
  } catch (error) {
    if (error instanceof ApiError && error.code === 403) return []
    throw error
  }
}

/** The ConfigMap with the mesh configuration at Istio's default location, or the reason why it cannot be read. */
export async function storedMeshConfig({ api, names }: Session, revision?: string): Promise<Fields | string> {
  const name = revision === undefined ? "istio" : `istio-${revision}`
  const path = `/api/v1/namespaces/${names.rootNamespace}/configmaps/${encodeURIComponent(name)}`
  try {
    return fieldsOf(await api.request({ method: "GET", path }))
  } catch (error) {
    if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 403)) throw error
    return visible(error.message)
  }
}
