// SPDX-License-Identifier: Apache-2.0
//
// The built-in resources: their discovery data, where their objects are stored, and the traits by which their handling
// differs (unconditional update, creation by update, generation, response to delete).

import { createHash } from "node:crypto"
import { table } from "./data.js"
import { type StructNode, typeNamed } from "./type-table.js"

export interface RawResource {
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  readonly kind: string
  readonly verbs: string[]
  readonly shortNames?: string[]
  readonly categories?: string[]
  readonly group: string
  readonly version: string
  readonly type: string
  readonly responseGroup?: string
  readonly responseVersion?: string
}

export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
  readonly responseGroup?: string
  readonly responseVersion?: string
  readonly type: string
}

export interface Traits {
  readonly unconditionalUpdate: boolean
  readonly createOnUpdate: boolean
  readonly generation: boolean
  readonly returnDeleted: boolean
}

/** A resource as requests use it, built in or defined by a CRD. */
export interface ResourceInfo {
  readonly group: string
  readonly version: string
  readonly apiVersion: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly Subresource[]
  readonly storageHash: string
  /** The keys of all objects of the resource have this prefix. */
  readonly prefix: string
  readonly traits: Traits
}

export interface BuiltinResource extends ResourceInfo {
  readonly type: StructNode
  /** Virtual resources, such as reviews, are never stored. */
  readonly virtual: boolean
}

const createOnUpdate = new Set(
  "runtimeclasses rolebindings clusterrolebindings roles clusterroles leases limitranges events services endpoints".split(
    " ",
  ),
)
const conditionalOnly = new Set(
  "runtimeclasses leases poddisruptionbudgets storageversionmigrations validatingadmissionpolicies mutatingadmissionpolicies validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicybindings mutatingadmissionpolicybindings customresourcedefinitions apiservices".split(
    " ",
  ),
)
const generations = new Set(
  "priorityclasses ingressclasses networkpolicies ingresses endpointslices poddisruptionbudgets resourceslices deviceclasses flowschemas prioritylevelconfigurations daemonsets statefulsets deployments replicasets jobs cronjobs pods replicationcontrollers validatingadmissionpolicies mutatingadmissionpolicies validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicybindings mutatingadmissionpolicybindings customresourcedefinitions".split(
    " ",
  ),
)
const returnDeleted = new Set(
  "resourceclaimtemplates resourceslices resourceclaims deviceclasses storageclasses resourcequotas persistentvolumes serviceaccounts persistentvolumeclaims namespaces pods services".split(
    " ",
  ),
)
const prefixes: Record<string, string> = {
  services: "services/specs",
  nodes: "minions",
  endpoints: "services/endpoints",
  ingresses: "ingress",
  customresourcedefinitions: "apiextensions.k8s.io/customresourcedefinitions",
  apiservices: "apiregistration.k8s.io/apiservices",
  replicationcontrollers: "controllers",
}

export function storageVersionHash(group: string, version: string, kind: string): string {
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64")
}

/** Kinds that are stored in another group or version than the requested one. */
const storedAs: Record<string, [string, string]> = { Event: ["", "v1"], HorizontalPodAutoscaler: ["autoscaling", "v2"] }

function build(): BuiltinResource[] {
  const rawResources = table<readonly RawResource[]>("resources")()
  const subresources = new Map<string, Subresource[]>()
  for (const raw of rawResources) {
    const slash = raw.name.indexOf("/")
    if (slash < 0) continue
    const key = `${raw.group}/${raw.version}/${raw.name.slice(0, slash)}`
    const { responseGroup, responseVersion, kind, verbs, type } = raw
    const sub: Subresource = {
      ...{ name: raw.name.slice(slash + 1), kind, verbs, type },
      ...(responseGroup === undefined ? {} : { responseGroup }),
      ...(responseVersion === undefined ? {} : { responseVersion }),
    }
    subresources.set(key, [...(subresources.get(key) ?? []), sub])
  }
  return rawResources
    .filter(raw => !raw.name.includes("/"))
    .map(raw => {
      const [group, version] = storedAs[raw.kind] ?? [raw.group, raw.version]
      const virtual = !raw.verbs.includes("get")
      return {
        group: raw.group,
        version: raw.version,
        apiVersion: raw.group === "" ? raw.version : `${raw.group}/${raw.version}`,
        plural: raw.name,
        singular: raw.singularName,
        kind: raw.kind,
        listKind: `${raw.kind}List`,
        namespaced: raw.namespaced,
        verbs: raw.verbs,
        shortNames: raw.shortNames ?? [],
        categories: raw.categories ?? [],
        subresources: subresources.get(`${raw.group}/${raw.version}/${raw.name}`) ?? [],
        storageHash: virtual ? "" : storageVersionHash(group, version, raw.kind),
        prefix: `/registry/${prefixes[raw.name] ?? raw.name}/`,
        traits: {
          unconditionalUpdate: !conditionalOnly.has(raw.name),
          createOnUpdate: createOnUpdate.has(raw.name),
          generation: generations.has(raw.name),
          returnDeleted: returnDeleted.has(raw.name),
        },
        type: typeNamed(raw.type),
        virtual,
      }
    })
}

export const builtinResources: readonly BuiltinResource[] = build()

/** In the order in which kube-apiserver lists its groups; custom groups follow. */
export const groupOrder: readonly string[] =
  " apiregistration.k8s.io apps events.k8s.io authentication.k8s.io authorization.k8s.io autoscaling batch certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io storage.k8s.io admissionregistration.k8s.io apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io node.k8s.io discovery.k8s.io resource.k8s.io flowcontrol.apiserver.k8s.io storagemigration.k8s.io".split(
    " ",
  )
