// SPDX-License-Identifier: Apache-2.0
//
// Discovery documents: which groups, versions and resources are served, in the classic form and in the aggregated form
// that newer versions of kubectl read in two requests.

import { builtinResources, groupOrder, type ResourceInfo, type Subresource } from "../kinds/resource-table.js"
import type { Catalog } from "../registry/catalog.js"
import { compareVersions } from "../registry/custom-kind.js"
import { asArray, asString, type JsonObject } from "../value.js"

function groups(catalog: Catalog): Map<string, string[]> {
  const out = new Map<string, string[]>()
  for (const group of groupOrder.slice(1)) {
    const versions = [...new Set(builtinResources.filter(info => info.group === group).map(info => info.version))].sort(
      compareVersions,
    )
    if (versions.length > 0) out.set(group, versions)
  }
  for (const [group, versions] of catalog.customGroups()) out.set(group, versions)
  for (const [group, versions] of catalog.aggregatedGroups()) out.set(group, [...versions].sort(compareVersions))
  return out
}

function groupDocument(name: string, versions: readonly string[]): JsonObject {
  const entries = versions.map((version): JsonObject => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: entries, preferredVersion: entries[0] ?? {} }
}

export function apiVersions(address: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  }
}

export function apiGroupList(catalog: Catalog): JsonObject {
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [...groups(catalog)].map(([name, versions]) => groupDocument(name, versions)),
  }
}

export function apiGroup(catalog: Catalog, name: string): JsonObject | undefined {
  const versions = groups(catalog).get(name)
  return versions === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupDocument(name, versions) }
}

function infos(catalog: Catalog, group: string, version: string): ResourceInfo[] {
  const builtin = builtinResources.filter(info => info.group === group && info.version === version)
  const custom = catalog
    .customKinds()
    .map(kind => kind.info)
    .filter(info => info.group === group && info.version === version)
  return [...builtin, ...custom]
}

function resourceEntry(info: ResourceInfo): JsonObject {
  const entry: JsonObject = {
    name: info.plural,
    singularName: info.singular,
    namespaced: info.namespaced,
    kind: info.kind,
    verbs: [...info.verbs],
  }
  if (info.shortNames.length > 0) entry.shortNames = [...info.shortNames]
  if (info.categories.length > 0) entry.categories = [...info.categories]
  if (info.storageHash !== "") entry.storageVersionHash = info.storageHash
  return entry
}

function subresourceEntry(info: ResourceInfo, sub: Subresource): JsonObject {
  const entry: JsonObject = { name: `${info.plural}/${sub.name}`, singularName: "", namespaced: info.namespaced }
  if (sub.responseGroup !== undefined) entry.group = sub.responseGroup
  if (sub.responseVersion !== undefined) entry.version = sub.responseVersion
  return { ...entry, kind: sub.kind, verbs: [...sub.verbs] }
}

export function apiResourceList(catalog: Catalog, group: string, version: string): JsonObject | undefined {
  const found = infos(catalog, group, version)
  if (found.length === 0) return undefined
  const resources = found.flatMap(info => [
    resourceEntry(info),
    ...info.subresources.map(sub => subresourceEntry(info, sub)),
  ])
  const head: JsonObject =
    group === ""
      ? { kind: "APIResourceList", groupVersion: "v1" }
      : { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${group}/${version}` }
  return { ...head, resources }
}

function aggregatedResource(info: ResourceInfo, builtin: boolean): JsonObject {
  // Custom resources name their group and version; built-in kinds leave them out.
  const { group, version } = builtin ? { group: "", version: "" } : info
  const entry: JsonObject = {
    resource: info.plural,
    responseKind: { group, version, kind: info.kind },
    scope: info.namespaced ? "Namespaced" : "Cluster",
    singularResource: info.singular,
    verbs: [...info.verbs],
  }
  if (info.shortNames.length > 0) entry.shortNames = [...info.shortNames]
  if (info.categories.length > 0) entry.categories = [...info.categories]
  if (info.subresources.length > 0)
    entry.subresources = info.subresources.map(
      (sub): JsonObject => ({
        subresource: sub.name,
        responseKind: { group: sub.responseGroup ?? group, version: sub.responseVersion ?? version, kind: sub.kind },
        verbs: [...sub.verbs],
      }),
    )
  return entry
}

/** Converts an entry of an aggregated server's resource list to an entry of this document. */
function behindResource(resource: JsonObject, group: string, version: string): JsonObject {
  return {
    resource: asString(resource.name),
    responseKind: { group, version, kind: asString(resource.kind) },
    scope: resource.namespaced === true ? "Namespaced" : "Cluster",
    singularResource: asString(resource.singularName),
    verbs: asArray(resource.verbs),
  }
}

function aggregatedGroup(catalog: Catalog, name: string, versions: readonly string[]): JsonObject {
  return {
    metadata: name === "" ? {} : { name },
    versions: versions.map(
      (version): JsonObject => ({
        version,
        resources: [
          ...infos(catalog, name, version).map(info => aggregatedResource(info, catalog.isBuiltinGroup(name))),
          ...catalog.aggregatedResources(name, version).map(resource => behindResource(resource, name, version)),
        ],
        freshness: "Current",
      }),
    ),
  }
}

export const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

export function aggregated(catalog: Catalog, legacy: boolean): JsonObject {
  const items = legacy
    ? [aggregatedGroup(catalog, "", ["v1"])]
    : [...groups(catalog)].map(([name, versions]) => aggregatedGroup(catalog, name, versions))
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items }
}

/** Groups and versions that this server serves itself. */
export function groupVersions(catalog: Catalog): [string, string][] {
  const behind = catalog.aggregatedGroups()
  return [...groups(catalog)]
    .filter(([group]) => !behind.has(group))
    .flatMap(([group, versions]) => versions.map((version): [string, string] => [group, version]))
}
