// SPDX-License-Identifier: Apache-2.0
// The paths of every resource with their operations, and the definitions that they need. Operations have the fields
// that clients look for: kind, action, dry run and field validation.

import { builtinResources, type ResourceInfo } from "../kinds/resource-table.js"
import type { Catalog } from "../registry/catalog.js"
import type { CustomKind } from "../registry/custom-kind.js"
import type { JsonObject } from "../value.js"
import { operation, pathParameter, queryParameters } from "./operations.js"
import { customListSchema, customName, customSchema, type Flavour, gvk, refTo, SchemaWriter } from "./schemas.js"

export interface GroupVersion {
  readonly group: string
  readonly version: string
}

interface Served {
  readonly info: ResourceInfo
  readonly schema: string
  readonly list: string
  readonly custom: CustomKind | undefined
}

function served(catalog: Catalog, only: GroupVersion | undefined): Served[] {
  const wanted = (info: ResourceInfo): boolean =>
    only === undefined || (info.group === only.group && info.version === only.version)
  const builtin = builtinResources
    .filter(wanted)
    .map((info): Served => ({ info, schema: info.type.name, list: `${info.type.name}List`, custom: undefined }))
  const custom = catalog
    .customKinds()
    .filter(kind => wanted(kind.info))
    .map(
      (kind): Served => ({ info: kind.info, schema: customName(kind), list: customName(kind, "List"), custom: kind }),
    )
  return [...builtin, ...custom]
}

const COMMON = ["DeleteOptions", "Patch", "Status"].map(name => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`)

export function definitionsFor(catalog: Catalog, only: GroupVersion | undefined, flavour: Flavour): JsonObject {
  const writer = new SchemaWriter(flavour)
  const out = new Map<string, JsonObject>()
  const kinds = new Map<string, JsonObject[]>()
  for (const entry of served(catalog, only)) {
    if (entry.custom !== undefined) {
      out.set(entry.schema, customSchema(entry.custom, writer))
      out.set(entry.list, customListSchema(entry.custom, writer))
      continue
    }
    writer.referenced.add(entry.schema)
    kinds.set(entry.schema, [
      ...(kinds.get(entry.schema) ?? []),
      gvk(entry.info.group, entry.info.version, entry.info.kind),
    ])
    if (entry.info.verbs.includes("list")) {
      writer.referenced.add(entry.list)
      kinds.set(entry.list, [gvk(entry.info.group, entry.info.version, entry.info.listKind)])
    }
    for (const sub of entry.info.subresources) {
      if (sub.type === "") continue
      writer.referenced.add(sub.type)
      // Only subresources with their own kind, such as Scale; the other kinds are listed with their resource.
      if (sub.responseGroup !== undefined)
        kinds.set(sub.type, [gvk(sub.responseGroup, sub.responseVersion ?? "v1", sub.kind)])
    }
  }
  for (const name of COMMON) writer.referenced.add(name)
  kinds.set(COMMON[2] ?? "", [gvk("", "v1", "Status")])
  const pending = [...writer.referenced]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (out.has(name)) continue
    const before = new Set(writer.referenced)
    const schema = writer.named(name)
    const own = kinds.get(name)
    out.set(name, own === undefined ? schema : { ...schema, "x-kubernetes-group-version-kind": own })
    for (const added of writer.referenced) if (!before.has(added) || !out.has(added)) pending.push(added)
  }
  return Object.fromEntries([...out].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function basePath(info: ResourceInfo): string {
  return info.group === "" ? `/api/${info.version}` : `/apis/${info.group}/${info.version}`
}

/** For example `createSecurityMerlonDevV1alpha3NamespacedAuthorizationPolicy`. */
function operationId(verb: string, info: ResourceInfo, suffix = "", scoped = info.namespaced): string {
  const group =
    info.group === ""
      ? "Core"
      : info.group
          .replace(/\.k8s\.io$/, "")
          .split(/[.-]/)
          .map(part => part[0]?.toUpperCase() + part.slice(1))
          .join("")
  return `${verb}${group}${info.version[0]?.toUpperCase()}${info.version.slice(1)}${scoped ? "Namespaced" : ""}${info.kind}${suffix}`
}

function tagOf(info: ResourceInfo): string {
  const parts = info.group === "" ? ["core"] : info.group.replace(/\.k8s\.io$/, "").split(/[.-]/)
  return `${parts.map((part, i) => (i === 0 ? part : part[0]?.toUpperCase() + part.slice(1))).join("")}_${info.version}`
}

function resourcePaths(entry: Served, flavour: Flavour): [string, JsonObject][] {
  const { info } = entry
  const root = basePath(info)
  const collection = info.namespaced ? `${root}/namespaces/{namespace}/${info.plural}` : `${root}/${info.plural}`
  const object = refTo(entry.schema, flavour)
  const list = refTo(entry.list, flavour)
  const kind = gvk(info.group, info.version, info.kind)
  const has = (verb: string): boolean => info.verbs.includes(verb)
  const custom = entry.custom !== undefined
  const op = (
    action: string,
    verb: string,
    text: string,
    answer: string,
    extra: { body?: string; suffix?: string; scoped?: boolean } = {},
  ): JsonObject =>
    operation({
      flavour,
      action,
      description: text,
      id: operationId(verb, info, extra.suffix, extra.scoped),
      tag: tagOf(info),
      kind,
      answer,
      custom,
      ...(extra.body === undefined ? {} : { body: extra.body }),
    })
  const article = /^[AEIOU]/.test(info.kind) ? "an" : "a"
  const namespace = info.namespaced
    ? [pathParameter("namespace", "object name and auth scope, such as for teams and projects", flavour)]
    : []
  const pretty = queryParameters(["pretty"], flavour)
  const paths: [string, JsonObject][] = []
  const items: JsonObject = { parameters: [...namespace, ...pretty] }
  if (has("list")) items.get = op("list", "list", `list objects of kind ${info.kind}`, list)
  if (has("create")) items.post = op("post", "create", `create ${article} ${info.kind}`, object, { body: object })
  if (has("deletecollection"))
    items.delete = op(
      "deletecollection",
      "delete",
      `delete collection of ${info.kind}`,
      refTo(COMMON[2] ?? "", flavour),
      { suffix: "" },
    )
  paths.push([collection, items])
  if (has("get")) {
    const one: JsonObject = {
      parameters: [pathParameter("name", `name of the ${info.kind}`, flavour), ...namespace, ...pretty],
    }
    one.get = op("get", "read", `read the specified ${info.kind}`, object)
    if (has("update")) one.put = op("put", "replace", `replace the specified ${info.kind}`, object, { body: object })
    if (has("patch"))
      one.patch = op("patch", "patch", `partially update the specified ${info.kind}`, object, {
        body: refTo(COMMON[1] ?? "", flavour),
      })
    if (has("delete"))
      one.delete = op("delete", "delete", `delete ${article} ${info.kind}`, refTo(COMMON[2] ?? "", flavour), {
        body: refTo(COMMON[0] ?? "", flavour),
      })
    paths.push([`${collection}/{name}`, one])
  }
  for (const sub of info.subresources) {
    const own = sub.type === "" ? object : refTo(sub.type, flavour)
    const suffix = `${sub.name[0]?.toUpperCase()}${sub.name.slice(1)}`
    const item: JsonObject = {
      parameters: [pathParameter("name", `name of the ${sub.kind}`, flavour), ...namespace, ...pretty],
    }
    const verbs: [string, string, string, string][] = [
      ["get", "get", "read", "read"],
      ["update", "put", "replace", "replace"],
      ["patch", "patch", "patch", "partially update"],
      ["create", "post", "create", "create"],
    ]
    for (const [verb, method, name, text] of verbs)
      if (sub.verbs.includes(verb))
        item[method] = op(method, name, `${text} ${sub.name} of the specified ${info.kind}`, own, {
          suffix,
          ...(method === "get" ? {} : { body: method === "patch" ? refTo(COMMON[1] ?? "", flavour) : own }),
        })
    paths.push([`${collection}/{name}/${sub.name}`, item])
  }
  if (info.namespaced && has("list"))
    paths.push([
      `${root}/${info.plural}`,
      {
        parameters: pretty,
        get: op("list", "list", `list objects of kind ${info.kind}`, list, {
          suffix: "ForAllNamespaces",
          scoped: false,
        }),
      },
    ])
  return paths
}

export function groupVersionPaths(catalog: Catalog, group: string, version: string): JsonObject {
  return Object.fromEntries(served(catalog, { group, version }).flatMap(entry => resourcePaths(entry, "v3")))
}

export function v2Paths(catalog: Catalog): JsonObject {
  return Object.fromEntries(served(catalog, undefined).flatMap(entry => resourcePaths(entry, "v2")))
}
