// SPDX-License-Identifier: Apache-2.0
// The values of an installation in one table: the source of the chart's values.yaml and its schema, and of the values
// that `merlonctl install` accepts. An unknown value is rejected by name.

import { nearest } from "@merlon/policy/shape"
import { DEFAULT_RESOURCES } from "../admission/proxy-resources.js"

type Labels = { readonly [key: string]: string }

export interface InstallValues {
  readonly mesh: string
  readonly domain: string
  readonly image: string
  readonly imagePullPolicy: string
  readonly imagePullSecrets: readonly unknown[]
  readonly replicas: number
  readonly resources: object
  readonly nodeSelector: object
  readonly tolerations: readonly unknown[]
  readonly affinity: object
  readonly priorityClassName: string
  readonly capture: string
  readonly udp: string
  readonly outbound: string
  readonly outboundPolicy: string
  readonly sidecar: string
  readonly proxy: { readonly resources: object }
  readonly trustDomain: string
  readonly clusterDomain: string
  readonly logLevel: string
  readonly config: object
  readonly providers: readonly unknown[]
  readonly authorizer: {
    readonly enabled: boolean
    readonly namespace: string
    readonly gateway: string
    readonly httpRoute: string
    readonly grpcRoute: string
    readonly args: readonly unknown[]
    readonly replicas: number
    readonly resources: object
  }
  readonly podDisruptionBudget: { readonly enabled: boolean; readonly minAvailable: number }
  readonly networkPolicy: { readonly enabled: boolean }
  readonly serviceMonitor: { readonly enabled: boolean; readonly labels: Labels; readonly interval: string }
  readonly alerts: { readonly enabled: boolean; readonly labels: Labels }
  readonly dashboards: { readonly enabled: boolean; readonly labels: Labels }
}

interface Schema {
  readonly type: "string" | "integer" | "boolean" | "object" | "array"
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
}

interface ValueEntry {
  /** Names separated by dots. */
  readonly path: string
  readonly about: string
  readonly default: unknown
  readonly schema: Schema
}

const TARGET_OF = { gateway: "Gateway", httpRoute: "HTTPRoute", grpcRoute: "GRPCRoute" } as const

const text = (pattern?: string): Schema => ({ type: "string", ...(pattern === undefined ? {} : { pattern }) })
const oneOf = (...values: string[]): Schema => ({ type: "string", enum: values })
const FLAG: Schema = { type: "boolean" }
const MAP: Schema = { type: "object" }
const LIST: Schema = { type: "array" }

export function valueTable(version: string): readonly ValueEntry[] {
  const value = (path: string, about: string, fallback: unknown, schema: Schema): ValueEntry => ({
    path,
    about,
    default: fallback,
    schema,
  })
  return [
    value(
      "mesh",
      "name of the mesh; the namespace to install into is <mesh>-system",
      "merlon",
      text("^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$"),
    ),
    value("domain", "domain of API groups, labels and annotations", "merlon.dev", text("^[a-z0-9.-]+\\.[a-z0-9-]+$")),
    value(
      "image",
      "image of the control plane and of injected proxies, always with its version",
      `merlon:${version}`,
      text("[:@][^:/@]+$"),
    ),
    value(
      "imagePullPolicy",
      "image pull policy of the control plane",
      "IfNotPresent",
      oneOf("IfNotPresent", "Always", "Never"),
    ),
    value("imagePullSecrets", "image pull secrets of the control plane, such as [{name: my-secret}]", [], LIST),
    value("replicas", "replicas of the control plane; all of them serve, only the leader writes", 2, {
      type: "integer",
      minimum: 1,
    }),
    value(
      "resources",
      "resources of a replica",
      { requests: { cpu: "100m", memory: "192Mi" }, limits: { memory: "1Gi" } },
      MAP,
    ),
    value("nodeSelector", "nodes that replicas may run on", {}, MAP),
    value("tolerations", "taints that replicas tolerate", [], LIST),
    value("affinity", "affinity of replicas, in addition to their spread over nodes and zones", {}, MAP),
    value(
      "priorityClassName",
      "priority class of replicas; Pods of injected namespaces start only while a replica runs",
      "",
      text(),
    ),
    value(
      "capture",
      "how traffic reaches injected proxies: redirect (by rules in the Pod, needs NET_ADMIN in an init container) or service (no privilege: Services and NetworkPolicies)",
      "redirect",
      oneOf("redirect", "service"),
    ),
    value(
      "udp",
      "inbound UDP of injected Pods, which no policy judges: pass it or refuse it (responses to their own requests still arrive). Takes effect when Pods are restarted, and only if capture is redirect",
      "pass",
      oneOf("pass", "refuse"),
    ),
    value(
      "outbound",
      "outbound calls of injected Pods: capture (rules in the Pod redirect its TCP connections to its proxy, where capture is redirect) or \"off\" (they are not changed; YAML needs the quotes). A namespace's label `<mesh>-outbound` and a Pod's annotation `outbound.<domain>/proxy` override it. Takes effect when Pods are restarted",
      "capture",
      oneOf("capture", "off"),
    ),
    value(
      "outboundPolicy",
      "captured calls to destinations that are neither in the cluster nor named by a MeshService: ALLOW_ANY (pass them through) or REGISTRY_ONLY (reject them). A namespace's label `<mesh>-outbound-policy` overrides it. Takes effect at once",
      "ALLOW_ANY",
      oneOf("ALLOW_ANY", "REGISTRY_ONLY"),
    ),
    value(
      "sidecar",
      "kind of injected container: native (an init container that keeps running), plain, or auto: native from Kubernetes 1.32 on, where every supported kubelet has them",
      "auto",
      oneOf("auto", "native", "plain"),
    ),
    value(
      "proxy.resources",
      "resources of injected containers; a Pod's annotation `sidecar.<domain>/resources` changes them, as JSON. Without limits, a ResourceQuota on limits rejects the Pod",
      DEFAULT_RESOURCES,
      MAP,
    ),
    value("trustDomain", "trust domain of identities", "cluster.local", text("^[a-z0-9._-]+$")),
    value("clusterDomain", "suffix of Services' host names", "cluster.local", text("^[a-z0-9.-]+$")),
    value(
      "logLevel",
      "log level of the control plane",
      "info",
      oneOf("fatal", "error", "warn", "info", "debug", "trace"),
    ),
    value("config", "any other option of `merlond serve`, in camel case, such as {certificateTtl: 12h}", {}, MAP),
    value(
      "providers",
      "external authorizers that CUSTOM policies may name, such as [{name: opa, protocol: grpc, address: 'opa.policy.svc:9191'}]; `tls.ca` is PEM text",
      [],
      LIST,
    ),
    value("authorizer.enabled", "run `merlond authorizer`, which gateways ask for decisions", false, FLAG),
    value(
      "authorizer.namespace",
      "existing namespace of the authorizer and of the policies that select it; empty for that of the control plane",
      "",
      text("^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$"),
    ),
    ...(["gateway", "httpRoute", "grpcRoute"] as const).map(kind =>
      value(
        `authorizer.${kind}`,
        `name of the ${TARGET_OF[kind]} that it decides for, for policies with \`targetRefs\``,
        "",
        text("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"),
      ),
    ),
    value(
      "authorizer.args",
      "options of `merlond authorizer`, such as ['--gateway=10.0.0.0/8', '--forward-auth=nginx']; without --gateway it denies everything that comes from another Pod",
      [],
      LIST,
    ),
    value("authorizer.replicas", "replicas of the authorizer", 2, { type: "integer", minimum: 1 }),
    value(
      "authorizer.resources",
      "resources of a replica of the authorizer",
      { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "256Mi" } },
      MAP,
    ),
    value("podDisruptionBudget.enabled", "keep a replica while nodes are drained", true, FLAG),
    value("podDisruptionBudget.minAvailable", "number of replicas to keep", 1, { type: "integer", minimum: 1 }),
    value("networkPolicy.enabled", "accept only connections to the ports of the control plane", true, FLAG),
    value("serviceMonitor.enabled", "create a ServiceMonitor for the Prometheus operator", false, FLAG),
    value("serviceMonitor.labels", "labels of the ServiceMonitor", {}, MAP),
    value("serviceMonitor.interval", "interval between scrapes", "30s", text("^[0-9]+(s|m)$")),
    value("alerts.enabled", "create alert rules for the Prometheus operator", false, FLAG),
    value("alerts.labels", "labels of the rules", {}, MAP),
    value(
      "dashboards.enabled",
      "create dashboards for Grafana's sidecar: control plane, proxies, policy decisions",
      false,
      FLAG,
    ),
    value("dashboards.labels", "labels by which Grafana's sidecar finds them", { grafana_dashboard: "1" }, MAP),
  ]
}

export function defaultValues(version: string): InstallValues {
  const tree: Tree = {}
  for (const { path, default: fallback } of valueTable(version)) setPath(tree, path, fallback)
  return tree as unknown as InstallValues // a test compares the table with the interface
}

/** Applies the user's values to the defaults; throws an error for users if a value is unknown or invalid. */
export function readValues(version: string, ...given: readonly unknown[]): InstallValues {
  const table = new Map(valueTable(version).map(entry => [entry.path, entry]))
  const tree: Tree = structuredClone(defaultValues(version)) as unknown as Tree // the same tree, modified below
  for (const one of given) {
    for (const [path, value] of leaves(one, table, "")) {
      const entry = table.get(path)
      if (entry === undefined) throw new Error(unknownValue(path, [...table.keys()]))
      const error = errorOf(entry.schema, value)
      if (error !== undefined) throw new Error(`the value \`${path}\` ${error}; it is \`${JSON.stringify(value)}\``)
      setPath(tree, path, merged(valueAt(tree, path), value))
    }
  }
  return tree as unknown as InstallValues // every path was checked
}

/** Parses an assignment such as `replicas=3` into a tree. The value has the type that YAML gives it. */
export function assignment(text: string, parse: (text: string) => unknown): unknown {
  const [, path = "", value = ""] = /^([\w.]+)=(.*)$/s.exec(text) ?? []
  if (path === "") throw new Error(`\`${text}\` must have the form PATH=VALUE, such as replicas=3`)
  const tree: Tree = {}
  const list = /^\{([^:]*[^:\s][^:]*)\}$/s.exec(value)?.[1]
  setPath(tree, path, list === undefined ? (parse(value) ?? "") : parse(`[${list}]`))
  return tree
}

/**
 * Several assignments at once, as in Helm: `replicas=3,logLevel=debug`. A comma inside brackets, braces or after `\`
 * belongs to its value; `{a,b}` is a list.
 */
export function assignments(text: string, parse: (text: string) => unknown): readonly unknown[] {
  const parts = [""]
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const last = parts.length - 1
    if (character === "\\" && at + 1 < text.length) {
      at++
      parts[last] += text.charAt(at)
      continue
    }
    if (character === "{" || character === "[") depth++
    if (character === "}" || character === "]") depth--
    if (character === "," && depth === 0) parts.push("")
    else parts[last] += character
  }
  return parts.map(part => assignment(part, parse))
}

interface Tree {
  [name: string]: unknown
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function setPath(tree: Tree, path: string, value: unknown): void {
  const names = path.split(".")
  const last = names.pop() ?? ""
  let at = tree
  for (const name of names) {
    const next: Tree = isTree(at[name]) ? at[name] : {}
    at[name] = next
    at = next
  }
  at[last] = value
}

function valueAt(tree: Tree, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => (isTree(at) ? at[name] : undefined), tree)
}

/** Merges as Helm does: maps are merged, and null removes a name. */
function merged(under: unknown, over: unknown): unknown {
  if (!isTree(under) || !isTree(over)) return over
  const result: Tree = { ...under }
  for (const [name, value] of Object.entries(over)) {
    if (value === null) delete result[name]
    else result[name] = merged(under[name], value)
  }
  return result
}

/** Leaves of the tree as far as the table defines it; below that, a map is one value. */
function* leaves(
  value: unknown,
  table: ReadonlyMap<string, ValueEntry>,
  prefix: string,
): Generator<readonly [path: string, value: unknown]> {
  if (!isTree(value)) throw new Error(prefix === "" ? "values must be a mapping" : unknownShape(prefix, value))
  for (const [name, item] of Object.entries(value)) {
    const path = prefix === "" ? name : `${prefix}.${name}`
    const isFolder = [...table.keys()].some(key => key.startsWith(`${path}.`))
    if (isFolder) yield* leaves(item, table, path)
    else yield [path, item]
  }
}

function unknownShape(path: string, value: unknown): string {
  return `the value \`${path}\` must be a mapping; it is \`${JSON.stringify(value)}\``
}

function unknownValue(path: string, known: readonly string[]): string {
  const meant = nearest(path, known)
  return `there is no value \`${path}\`; ${meant === undefined ? "`merlonctl manifest --values` lists them" : `did you mean \`${meant}\`?`}`
}

function errorOf(schema: Schema, value: unknown): string | undefined {
  const type = Array.isArray(value)
    ? "array"
    : Number.isInteger(value)
      ? "integer"
      : value === null
        ? "null"
        : typeof value
  if (type !== schema.type) return `must be ${/^[aeio]/.test(schema.type) ? "an" : "a"} ${schema.type}`
  if (schema.enum?.includes(String(value)) === false) return `must be one of ${schema.enum.join(", ")}`
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(String(value))) {
    return `must match ${schema.pattern}`
  }
  return schema.minimum !== undefined && Number(value) < schema.minimum
    ? `must be at least ${schema.minimum}`
    : undefined
}
