// SPDX-License-Identifier: Apache-2.0
// Answers as tables, for clients such as `kubectl get` that print what a server sends without knowing the kind.

import { listOf, objectOf, textOf } from "../../registry/foreign.js"
import type { Item } from "./item.js"
import type { AnswerResource } from "./resources.js"

export interface TableRequest {
  /** Version of `meta.k8s.io`. */
  readonly version: "v1" | "v1beta1"
  readonly include: "None" | "Metadata" | "Object"
}

/** The best form that the client accepts and we offer: a Table, or undefined for plain objects. */
export function tableRequest(accept: string | undefined, query: URLSearchParams): TableRequest | undefined {
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map(part => part.trim().toLowerCase())
    if (type !== "application/json" && type !== "application/*" && type !== "*/*") continue
    const given = new Map(parameters.map(parameter => parameter.split("=", 2) as [string, string | undefined]))
    const as = given.get("as")
    if (as === undefined) return undefined
    const version = given.get("v")
    if (as !== "table" || given.get("g") !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) continue
    const include = query.get("includeObject")
    return { version, include: include === "None" || include === "Object" ? include : "Metadata" }
  }
  return undefined
}

interface Column {
  readonly name: string
  readonly type: "string" | "integer"
  readonly description: string
  /** `name` marks the column with the object's own name. */
  readonly format?: "name"
  /** 1: shown only in wide output. */
  readonly priority?: 1
  readonly cell: (item: Item, now: number) => string | number
}

type Type = { readonly apiVersion: string; readonly kind: string }

export function tableOf(
  resource: AnswerResource,
  objects: readonly (Item & Type)[],
  wanted: TableRequest,
  { metadata, now }: { readonly metadata: object; readonly now: number },
): object {
  const columns = COLUMNS[resource.name] ?? [NAME]
  const apiVersion = `meta.k8s.io/${wanted.version}`
  const attached = (object: Item & Type): object | null => {
    if (wanted.include === "None") return null
    return wanted.include === "Object"
      ? object
      : { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata }
  }
  return {
    kind: "Table",
    apiVersion,
    metadata,
    columnDefinitions: columns.map(({ name, type, description, format = "", priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    rows: objects.map(object => ({ cells: columns.map(({ cell }) => cell(object, now)), object: attached(object) })),
  }
}

const column = (name: string, description: string, cell: Column["cell"], more: Partial<Column> = {}): Column => ({
  name,
  type: "string",
  description,
  cell,
  ...more,
})
const WIDE = { priority: 1 } as const
const NUMBER = { type: "integer" } as const

const NAME = column("Name", "name of the object", ({ metadata }) => metadata.name, { format: "name" })

const field =
  (name: string): Column["cell"] =>
  ({ spec }) =>
    shown(objectOf(spec)[name])
const since =
  (name: string): Column["cell"] =>
  ({ spec }, now) =>
    ago(objectOf(spec)[name], now)

const CALLER = column(
  "Caller",
  "identity that mutual TLS proved; otherwise the workload or address of the caller",
  item => {
    const { peer, caller, from, source, address } = objectOf(item.spec)
    const proved = textOf(peer) ?? textOf(caller)
    // The trust domain is left out: there is usually only one.
    if (proved !== undefined) return proved.replace(/^spiffe:\/\/[^/]+\//, "")
    return shown(textOf(from) ?? textOf(source) ?? address)
  },
)
const RULE = column("Rule", "rule that decided it", ({ spec }) => {
  const { rule } = objectOf(spec)
  const { policy, rule: index } = objectOf(rule)
  return textOf(policy) === undefined ? shown(rule) : `${shown(policy)}[${shown(index)}]`
})
const REQUEST = column("Request", "method and path", ({ spec }) => {
  const { method, path, protocol } = objectOf(spec)
  return [textOf(method), textOf(path)].filter(Boolean).join(" ") || shown(protocol)
})
const WORKLOAD = column("Workload", "workload that was called", field("workload"))
const PORT = column("Port", "port of the workload", field("port"))
const VERDICT = column("Verdict", "allow or deny", field("verdict"))
const STAGE = column("Stage", "stage that decided it", field("stage"), WIDE)

const PORTS = column("Ports", "ports, each with its mTLS mode", ({ spec }) =>
  listOf(objectOf(spec).ports)
    .map(objectOf)
    .map(({ port, mode }) => `${shown(port)} ${shown(mode)}`)
    .join(", "),
)
const counted =
  (name: string): Column["cell"] =>
  ({ spec }) =>
    listOf(objectOf(spec)[name]).length

const differing =
  (name: string): Column["cell"] =>
  ({ spec }) =>
    listOf(objectOf(objectOf(spec).difference)[name]).length

const COLUMNS: { readonly [resource: string]: readonly Column[] } = {
  calls: [
    column("Last Seen", "time since the last such call", since("lastSeen")),
    column("Count", "number of such calls", field("count"), NUMBER),
    CALLER,
    WORKLOAD,
    PORT,
    REQUEST,
    VERDICT,
    RULE,
    { ...STAGE },
    column("First Seen", "time since the first such call", since("firstSeen"), WIDE),
    { ...NAME, ...WIDE },
  ],
  destinations: [
    column("Last Seen", "time since the last call", since("lastSeen")),
    column("Count", "number of calls", field("count"), NUMBER),
    column("Workload", "workload that called", field("workload")),
    column("Destination", "destination that it called", field("destination")),
    column("Place", "mesh, cluster (without a proxy) or outside", field("place")),
    column("Transport", "mtls, plaintext, passthrough, or none if it was not reached", field("transport")),
    column("Status", "status of the last request", field("lastStatus")),
    column("Failures", "number of calls without a response", field("failures"), NUMBER),
    column("Reason", "reason of the last failure", field("lastReason"), WIDE),
    { ...NAME, ...WIDE },
  ],
  decisions: [
    NAME,
    column("Age", "time since it was made", since("time")),
    VERDICT,
    column("Status", "status that the caller got; 0 if the connection was closed", field("status"), NUMBER),
    CALLER,
    WORKLOAD,
    PORT,
    REQUEST,
    RULE,
    { ...STAGE },
    column("Reason", "explanation", field("reason"), WIDE),
  ],
  rules: [
    column("Policy", "policy that has the rule", field("policy")),
    column("Rule", "position in the policy", field("field")),
    column("Action", "action of the policy, or its kind", ({ spec }) => {
      const { action, kind, enforcement } = objectOf(spec)
      return `${shown(action ?? kind)}${enforcement === "Shadow" ? " (Shadow)" : ""}`
    }),
    column("Used", "number of calls that it decided", field("count"), NUMBER),
    column("Last", "time since it last decided one", since("lastSeen")),
    column("Watched Since", "how long calls have been counted", since("watchedSince")),
    { ...NAME, ...WIDE },
  ],
  changes: [
    NAME,
    column("Age", "time since it was made", since("time")),
    column("User", "user who made it", field("user")),
    column("Operation", "create, update or delete", field("operation")),
    column("Kind", "kind of the policy", field("kind")),
    column("Policy", "name of the policy", field("name")),
    column("Allowed", "number of newly allowed regions of requests", differing("allowed"), NUMBER),
    column("Denied", "number of newly denied regions of requests", differing("denied"), NUMBER),
    column(
      "Undecided",
      "why there may be more regions",
      ({ spec }) => shown(objectOf(objectOf(spec).difference).undecided),
      WIDE,
    ),
  ],
  proxies: [
    NAME,
    WORKLOAD,
    column("Connected", "time since it connected", since("connectedAt")),
    column("Revision", "revision to enforce", field("revision")),
    column("Behind", "number of resources of which it does not enforce the current version", field("behind"), NUMBER),
    column("Rejection", "why it rejected an update", field("rejection")),
    column("Version", "version of xserver", field("version"), WIDE),
  ],
  workloads: [
    NAME,
    column("Identity", "identity in its certificates", field("identity")),
    PORTS,
    column("Pods", "number of Pods", counted("pods"), NUMBER),
    column("Policies", "number of policies in force", counted("policies"), NUMBER),
  ],
  readiness: [
    NAME,
    PORTS,
    column("Calls", "calls observed in the window", field("calls"), NUMBER),
    column("Strict", "whether its ports are ready for STRICT", field("state")),
    column("Why", "explanation", field("why")),
  ],
}

function shown(value: unknown): string | number {
  return typeof value === "number" ? value : (textOf(value) ?? "-")
}

const UNITS: readonly (readonly [seconds: number, letter: string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
  [1, "s"],
]

/** Rounded down to one unit; the next smaller unit is used below 2 of a unit. */
function ago(time: unknown, now: number): string {
  const seconds = Math.max(Math.floor((now - Date.parse(textOf(time) ?? "")) / 1_000), 0)
  if (Number.isNaN(seconds)) return "-"
  const [unit, letter] = UNITS.find(([size]) => seconds >= 2 * size) ?? [1, "s"]
  return `${Math.floor(seconds / unit)}${letter}`
}
