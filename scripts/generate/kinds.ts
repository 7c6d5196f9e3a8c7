// SPDX-License-Identifier: Apache-2.0
//
// Derives the tables of built-in kinds from the Go sources of Kubernetes (Apache-2.0): field order, JSON names, wire
// numbers, merge keys, list types, documentation and the resources of each group version.
// Usage: `npm run generate:kinds -- GOMODULES`, a folder with the unpacked modules
// k8s.io/{api,apimachinery,apiextensions-apiserver,kube-aggregator,kubernetes}@version, one of each.

import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { RawResource } from "@merlon/cluster"
import { parse } from "yaml"

interface Field {
  /** JSON name; empty if the fields of the type are inlined. */
  readonly j: string
  /** Type expression: string, int32, []T, map[string]T, *T, @full.name. */
  readonly t: string
  /** 1: omitempty, 2: omitzero, 3: both. */
  o?: number
  /** Protobuf field number. */
  p?: number
  d?: string
  /** Patch strategy and merge key. */
  ps?: string
  pk?: string
  /** List type, list map keys, struct or map type, union of them, as written in the markers. */
  lt?: string
  lk?: string[]
  st?: string
  /** Declared default, as JSON. */
  def?: string
  req?: number
}

interface TypeDef {
  readonly go: string
  d?: string
  readonly f?: Field[]
  /** The underlying type of a named non-struct type. */
  readonly u?: string
  st?: string
}

const packages: Record<string, string> = {
  "k8s.io/apimachinery/pkg/apis/meta/v1": "io.k8s.apimachinery.pkg.apis.meta.v1",
  "k8s.io/apimachinery/pkg/runtime": "io.k8s.apimachinery.pkg.runtime",
  "k8s.io/apimachinery/pkg/util/intstr": "io.k8s.apimachinery.pkg.util.intstr",
  "k8s.io/apimachinery/pkg/api/resource": "io.k8s.apimachinery.pkg.api.resource",
  "k8s.io/apimachinery/pkg/types": "io.k8s.apimachinery.pkg.types",
  "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1":
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
  "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
}
const apiGroups = [
  ..."core apps batch autoscaling admissionregistration authentication authorization certificates coordination".split(
    " ",
  ),
  ..."discovery events flowcontrol networking node policy rbac resource scheduling storage storagemigration".split(" "),
]
for (const group of apiGroups) packages[`k8s.io/api/${group}/v1`] = `io.k8s.api.${group}.v1`
packages["k8s.io/api/autoscaling/v2"] = "io.k8s.api.autoscaling.v2"

/** Types whose JSON form differs from their Go struct; the codec knows them by name. */
const special = new Set(
  ["Time", "MicroTime", "Duration", "FieldsV1", "Verbs"]
    .map(name => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`)
    .concat([
      "io.k8s.apimachinery.pkg.runtime.RawExtension",
      "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
      "io.k8s.apimachinery.pkg.api.resource.Quantity",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
    ]),
)

/** Resources that are not served: no program uses them without nodes, volumes or kube-controller-manager (ADR 008). */
const unserved = new Set([
  ..."bindings componentstatuses podtemplates clustertrustbundles podcertificaterequests".split(" "),
  ..."csidrivers csinodes csistoragecapacities volumeattachments volumeattributesclasses".split(" "),
])

const scalars = new Set(["string", "bool", "int32", "int64", "int", "uint32", "float64", "float32", "byte", "any"])

function moduleFolder(root: string, path: string): string {
  const [host, name, ...rest] = path.split("/")
  const base = join(root, host ?? "")
  const found = readdirSync(base).find(entry => entry.startsWith(`${name}@`))
  if (found === undefined) throw new Error(`no module for ${path} in ${root}`)
  return join(base, found, ...rest)
}

/** Renders a Go comment as kube-openapi does. */
function description(lines: readonly string[]): string {
  let out = ""
  for (const raw of lines) {
    if (raw === "---") break
    const line = raw.replace(/ +$/, "")
    const leading = line.trimStart()
    if (line.length === 0) out = `${out.slice(0, -1)}\n\n`
    else if (leading.startsWith("TODO") || leading.startsWith("+")) continue
    else if (/^[ \t]/.test(line)) out = `${out.slice(0, -1)}\n${line}\n`
    else out += `${line} `
  }
  return out.trim()
}

function markers(lines: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const line of lines) {
    const match = /^\s*\+([A-Za-z0-9:_-]+)(?:=(.*))?$/.exec(line)
    const key = match?.[1]
    if (key !== undefined) found.set(key, [...(found.get(key) ?? []), match?.[2] ?? ""])
  }
  return found
}

function parseFile(text: string, packagePath: string, types: Map<string, TypeDef>): void {
  const prefix = packages[packagePath] ?? packagePath
  const short = packagePath.split("/").pop() ?? ""
  const imports = new Map<string, string>()
  for (const match of text.matchAll(/^\s*(?:import )?([A-Za-z0-9]*)\s*"(k8s\.io\/[^"]+)"$/gm)) {
    const path = match[2] ?? ""
    imports.set(match[1] || (path.split("/").pop() ?? ""), path)
  }
  const resolve = (expr: string): string => {
    if (expr.startsWith("*")) return `*${resolve(expr.slice(1))}`
    if (expr.startsWith("[]")) return expr === "[]byte" ? "bytes" : `[]${resolve(expr.slice(2))}`
    const map = /^map\[(?:[A-Za-z0-9.]+)\](.+)$/.exec(expr)
    if (map?.[1] !== undefined) return `map[string]${resolve(map[1])}`
    if (scalars.has(expr)) return expr
    if (expr === "interface{}" || expr === "runtime.Object") return "any"
    const dot = expr.indexOf(".")
    if (dot < 0) return `@${prefix}.${expr}`
    const path = imports.get(expr.slice(0, dot))
    return path === undefined ? "any" : `@${packages[path] ?? path}.${expr.slice(dot + 1)}`
  }
  let comments: string[] = []
  let current: { name: string; def: TypeDef } | undefined
  for (const raw of text.split("\n")) {
    const line = raw.trim()
    if (line.startsWith("//")) {
      comments.push(line.slice(2).replace(/^ /, ""))
      continue
    }
    if (current === undefined) {
      const struct = /^type ([A-Z]\w*) struct ?\{(\})?$/.exec(line)
      const named = /^type ([A-Z]\w*) (=\s*)?([\w.[\]*]+)$/.exec(line)
      if (struct?.[1] !== undefined) {
        const def: TypeDef = { go: `${short}.${struct[1]}`, d: description(comments), f: [] }
        const st = markers(comments).get("structType")?.[0]
        if (st !== undefined) def.st = st
        types.set(`${prefix}.${struct[1]}`, def)
        if (struct[2] === undefined) current = { name: struct[1], def }
      } else if (named?.[1] !== undefined && named[3] !== undefined && named[3] !== "struct") {
        types.set(`${prefix}.${named[1]}`, { go: `${short}.${named[1]}`, u: resolve(named[3]) })
      }
      if (line !== "") comments = []
      else if (comments.length > 0) comments = []
      continue
    }
    if (line === "}") {
      current = undefined
      comments = []
      continue
    }
    const field = /^(?:(\w+)\s+)?([\w.[\]*{}]+)\s+`(.*)`/.exec(line)
    if (field?.[2] !== undefined && field[3] !== undefined) {
      const json = /json:"([^"]*)"/.exec(field[3])?.[1]
      if (json !== undefined && json !== "-") {
        const [name = "", ...options] = json.split(",")
        const marks = markers(comments)
        const out: Field = { j: options.includes("inline") ? "" : name, t: resolve(field[2]) }
        const omit = (options.includes("omitempty") ? 1 : 0) + (options.includes("omitzero") ? 2 : 0)
        if (omit > 0) out.o = omit
        const proto = /protobuf:"[a-z0-9]+,(\d+),/.exec(field[3])?.[1]
        if (proto !== undefined) out.p = Number(proto)
        const strategy = /patchStrategy:"([^"]+)"/.exec(field[3])?.[1] ?? marks.get("patchStrategy")?.[0]
        if (strategy) out.ps = strategy
        const key = /patchMergeKey:"([^"]+)"/.exec(field[3])?.[1] ?? marks.get("patchMergeKey")?.[0]
        if (key) out.pk = key
        const listType = marks.get("listType")?.[0]
        if (listType) out.lt = listType
        const keys = marks.get("listMapKey")
        if (keys) out.lk = keys
        const mapType = marks.get("mapType")?.[0] ?? marks.get("structType")?.[0]
        if (mapType) out.st = mapType
        const declared = marks.get("default")?.[0]
        if (declared?.startsWith('"') || /^[\d[{]|^(true|false)/.test(declared ?? "")) out.def = declared ?? ""
        const optional = marks.has("optional") || (omit & 1) === 1
        if (!optional || marks.has("required")) out.req = 1
        const text = description(comments)
        if (text !== "") out.d = text
        current.def.f?.push(out)
      }
    }
    comments = line === "" && comments.length === 0 ? [] : line === "" ? [] : []
  }
}

function referenced(type: string): string[] {
  return [...type.matchAll(/@([\w.-]+)/g)].map(match => match[1] ?? "")
}

export interface Tables {
  readonly types: object
  readonly docs: object
  readonly resources: object
  readonly roles: object
}

export function generate(root: string): Tables {
  const types = new Map<string, TypeDef>()
  for (const path of Object.keys(packages)) {
    const folder = moduleFolder(root, path)
    if (!existsSync(folder)) throw new Error(`no folder ${folder}`)
    for (const file of readdirSync(folder)) {
      if (!file.endsWith(".go") || file.startsWith("zz_") || file.includes("generated") || file.endsWith("_test.go"))
        continue
      parseFile(readFileSync(join(folder, file), "utf8"), path, types)
    }
  }
  const resources = readResources(root)
  const queue = [
    ...resources.flatMap(r => [r.type, `${r.type}List`]).filter(name => types.has(name)),
    ..."DeleteOptions Status WatchEvent ObjectMeta ListMeta CreateOptions UpdateOptions PatchOptions"
      .split(" ")
      .map(name => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`),
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.core.v1.Binding",
    "io.k8s.api.authentication.v1.TokenRequest",
  ]
  const kept = new Map<string, TypeDef>()
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const def = types.get(name)
    if (kept.has(name) || def === undefined) continue
    if (special.has(name)) {
      kept.set(name, { go: def.go, ...(def.d ? { d: def.d } : {}) })
      continue
    }
    kept.set(name, def)
    for (const field of def.f ?? []) queue.push(...referenced(field.t))
    if (def.u !== undefined) queue.push(...referenced(def.u))
  }
  const sorted = [...kept].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    types: Object.fromEntries(sorted.map(([name, def]) => [name, withoutDocs(def)])),
    docs: Object.fromEntries(
      sorted.map(([name, def]) => [name, docsOf(def)] as const).filter(([, own]) => Object.keys(own).length > 0),
    ),
    resources,
    roles: readRoles(root),
  }
}

function withoutDocs(def: TypeDef): object {
  const { d: _, f, ...rest } = def
  return { ...rest, ...(f === undefined ? {} : { f: f.map(({ d: _d, ...field }) => field) }) }
}

/** Documentation by field name. The type's own has the empty name, which only inlined fields have. */
function docsOf({ d, f }: TypeDef): Record<string, string> {
  const out: Record<string, string> = {}
  if (d) out[""] = d
  for (const field of f ?? []) if (field.d !== undefined && field.j !== "") out[field.j] = field.d
  return out
}

/** Compact, on one line, because nobody edits these tables. */
export function printed(table: object): string {
  return `${JSON.stringify(table)}\n`
}

/** Detects manual edits of a table; regenerating updates it. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

/** Reads the discovery documents that Kubernetes keeps with its sources. */
function readResources(root: string): RawResource[] {
  const folder = moduleFolder(root, "k8s.io/kubernetes/api/discovery")
  const files = ["api__v1.json", ...readdirSync(folder).filter(f => /^apis__.*__v[12]\.json$/.test(f))]
  const packageOf = (group: string, version: string): string => {
    if (group === "apiextensions.k8s.io") return "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
    if (group === "apiregistration.k8s.io") return "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"
    return `io.k8s.api.${group === "" ? "core" : (group.split(".")[0] ?? "")}.${version}`
  }
  return files.flatMap(file => {
    const list = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
      groupVersion: string
      resources: (RawResource & { storageVersionHash?: string })[]
    }
    const slash = list.groupVersion.indexOf("/")
    const group = slash < 0 ? "" : list.groupVersion.slice(0, slash)
    const version = list.groupVersion.slice(slash + 1)
    if (group === "internal.apiserver.k8s.io") return []
    const served = list.resources.filter(({ name }) => !unserved.has(name.split("/")[0] ?? ""))
    return served.map(r => {
      const own = { group: r.group, version: r.version }
      return {
        name: r.name,
        singularName: r.singularName,
        namespaced: r.namespaced,
        kind: r.kind,
        verbs: r.verbs,
        ...(r.shortNames ? { shortNames: r.shortNames } : {}),
        ...(r.categories ? { categories: r.categories } : {}),
        group,
        version,
        type: `${packageOf(own.group ?? group, own.version ?? version)}.${r.kind}`,
        ...(own.group !== undefined ? { responseGroup: own.group, responseVersion: own.version } : {}),
      }
    })
  })
}

/** Reads the roles and bindings that every cluster starts with, from the test data of Kubernetes' RBAC policy. */
function readRoles(root: string): object {
  const folder = moduleFolder(root, "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata")
  const read = (file: string): unknown[] =>
    (parse(readFileSync(join(folder, file), "utf8")) as { items: unknown[] }).items
  const strip = (items: unknown[]): unknown[] =>
    JSON.parse(JSON.stringify(items, (key, value) => (key === "creationTimestamp" ? undefined : value)))
  const items = [
    "cluster-roles.yaml",
    "cluster-role-bindings.yaml",
    "namespace-roles.yaml",
    "namespace-role-bindings.yaml",
  ].flatMap(file => strip(read(file)))
  return items
}

const [, script, root] = process.argv
if (script === import.meta.filename && root !== undefined) {
  const out = join(import.meta.dirname, "../../packages/cluster/generated")
  const digests: Record<string, string> = {}
  for (const [name, table] of Object.entries(generate(root))) {
    const text = printed(table)
    digests[name] = digest(text)
    writeFileSync(join(out, `${name}.json`), text)
  }
  writeFileSync(join(out, "digests.json"), printed(digests))
}
