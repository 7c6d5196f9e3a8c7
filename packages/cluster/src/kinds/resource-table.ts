// SPDX-License-Identifier: Apache-2.0
//
// The built-in resources: what discovery says about each, where its objects are stored, and the traits by which
// their handling differs (unconditional update, creation by update, generation, answer to delete).

import { createHash } from "node:crypto"
import { rawResources } from "./generated/resources.js"
import { type StructNode, typeNamed } from "./type-table.js"

export interface RawResource {
  name: string
  singularName: string
  namespaced: boolean
  kind: string
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  group: string
  version: string
  type: string
  responseGroup?: string
  responseVersion?: string
}

export interface Subresource {
  name: string
  kind: string
  verbs: readonly string[]
  responseGroup?: string
  responseVersion?: string
  type: string
}

export interface Traits {
  unconditionalUpdate: boolean
  createOnUpdate: boolean
  generation: boolean
  returnDeleted: boolean
}

/** What requests are served with, whether built in or defined by a CRD. */
export interface ResourceInfo {
  group: string
  version: string
  apiVersion: string
  plural: string
  singular: string
  kind: string
  listKind: string
  namespaced: boolean
  verbs: readonly string[]
  shortNames: readonly string[]
  categories: readonly string[]
  subresources: readonly Subresource[]
  storageHash: string
  /** All objects of the resource live under this prefix. */
  prefix: string
  traits: Traits
}

export interface BuiltinResource extends ResourceInfo {
  type: StructNode
  /** Virtual resources, such as reviews, store nothing. */
  virtual: boolean
}

const createOnUpdate = new Set(
  "runtimeclasses rolebindings clusterrolebindings roles clusterroles leases limitranges events services endpoints".split(
    " ",
  ),
)
const conditionalOnly = new Set(
  "runtimeclasses leases poddisruptionbudgets csidrivers csistoragecapacities volumeattachments csinodes storageversionmigrations validatingadmissionpolicies mutatingadmissionpolicies validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicybindings mutatingadmissionpolicybindings customresourcedefinitions apiservices".split(
    " ",
  ),
)
const generations = new Set(
  "priorityclasses ingressclasses networkpolicies ingresses endpointslices poddisruptionbudgets resourceslices deviceclasses flowschemas prioritylevelconfigurations daemonsets statefulsets deployments replicasets jobs cronjobs pods podtemplates replicationcontrollers validatingadmissionpolicies mutatingadmissionpolicies validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicybindings mutatingadmissionpolicybindings customresourcedefinitions".split(
    " ",
  ),
)
const returnDeleted = new Set(
  "resourceclaimtemplates resourceslices resourceclaims deviceclasses csidrivers storageclasses volumeattachments csinodes volumeattributesclasses resourcequotas persistentvolumes serviceaccounts persistentvolumeclaims namespaces pods services podtemplates".split(
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

/** Where a kind is stored in another group or version than it is asked for. */
const storedAs: Record<string, [string, string]> = { Event: ["", "v1"], HorizontalPodAutoscaler: ["autoscaling", "v2"] }

function build(): BuiltinResource[] {
  const subresources = new Map<string, Subresource[]>()
  for (const raw of rawResources) {
    const slash = raw.name.indexOf("/")
    if (slash < 0) continue
    const key = `${raw.group}/${raw.version}/${raw.name.slice(0, slash)}`
    const sub: Subresource = { name: raw.name.slice(slash + 1), kind: raw.kind, verbs: raw.verbs, type: raw.type }
    if (raw.responseGroup !== undefined) sub.responseGroup = raw.responseGroup
    if (raw.responseVersion !== undefined) sub.responseVersion = raw.responseVersion
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

/** In the order kube-apiserver lists its groups; custom groups follow. */
export const groupOrder: readonly string[] =
  " apiregistration.k8s.io apps events.k8s.io authentication.k8s.io authorization.k8s.io autoscaling batch certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io storage.k8s.io admissionregistration.k8s.io apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io node.k8s.io discovery.k8s.io resource.k8s.io flowcontrol.apiserver.k8s.io storagemigration.k8s.io".split(
    " ",
  )
