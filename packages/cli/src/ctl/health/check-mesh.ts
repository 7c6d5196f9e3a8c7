// SPDX-License-Identifier: Apache-2.0
// Checks of a mesh's health through its cluster's API. Each check reports separately, so that a forbidden one does not
// hide the others.

import { ApiError } from "@merlon/control/kubernetes"
import { messageOf } from "@merlon/xds/runtime"
import { knownKinds } from "../catalog/known-kinds.js"
import { type AnyObject, apiVersionOf, pluralName, type Resource } from "../catalog/resource.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { ofServed } from "../lookup/not-found.js"
import type { Session } from "../session.js"
import { checkPods, checkProxies } from "./check-proxies.js"
import type { Checked } from "./checked.js"

const EVERYWHERE = { allNamespaces: true } as GetFlags // `listObjects` reads only filters, and there are none
const MAX_TOLD = 5

export async function checkMesh(session: Session): Promise<readonly Checked[]> {
  // Without a server no check can run. The error names the server.
  const version = fieldsOf(await session.api.request({ method: "GET", path: "/version" }))
  const server: Checked = {
    what: "server",
    verdict: "well",
    detail: `${textOf(version.gitVersion) ?? "of unknown version"} at ${session.origin}`,
  }
  return [
    server,
    ...(await checked("kinds", () => kinds(session))),
    ...(await checked("admission", () => admission(session))),
    ...(await checked("policies", () => conditions(session))),
    ...(await checked("proxies", () => checkProxies(session))),
    ...(await checked("pods", () => checkPods(session))),
  ]
}

async function checked(what: Checked["what"], ask: () => Promise<readonly Checked[]>): Promise<readonly Checked[]> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApiError && error.code === 0) throw error
    const detail = `cannot check: ${messageOf(error)}`
    if (!(error instanceof ApiError) || error.code !== 403) return [{ what, verdict: "wrong", detail }]
    return [
      {
        what,
        verdict: "unknown",
        detail,
        next: "ask for that permission, or ask someone who has it to run the check",
      },
    ]
  }
}

async function kinds(session: Session): Promise<readonly Checked[]> {
  const all = knownKinds(session.names)
  const groups = new Set(all.map(apiVersionOf))
  const served = new Set<string>()
  for (const group of groups) {
    try {
      const { resources } = fieldsOf(await session.api.request({ method: "GET", path: `/apis/${group}` }))
      for (const resource of listOf(resources)) served.add(`${group}/${textOf(fieldsOf(resource).name) ?? ""}`)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error
    }
  }
  const missing = all.filter(resource => !served.has(`${apiVersionOf(resource)}/${resource.plural}`)).map(pluralName)
  if (missing.length === 0) return [{ what: "kinds", verdict: "well", detail: `all ${all.length} are served` }]
  const next =
    missing.length === all.length
      ? "`merlonctl install` puts the mesh into the cluster"
      : "`merlonctl upgrade` adds them"
  return [{ what: "kinds", verdict: "wrong", detail: `not served: ${missing.join(", ")}`, next }]
}

const WEBHOOKS: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  singular: "validatingwebhookconfiguration",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
  shortNames: [],
  categories: [],
}

/** Whether a webhook checks policies before they are stored. */
async function admission(session: Session): Promise<readonly Checked[]> {
  const { items } = await listObjects(session, WEBHOOKS, EVERYWHERE)
  const groups = items.flatMap(item =>
    listOf(item.webhooks).flatMap(webhook =>
      listOf(fieldsOf(webhook).rules).flatMap(rule => listOf(fieldsOf(rule).apiGroups)),
    ),
  )
  if (groups.includes(session.names.securityGroup))
    return [{ what: "admission", verdict: "well", detail: "policies are checked before they are stored" }]
  return [
    {
      what: "admission",
      verdict: "wrong",
      detail: "no webhook checks policies, so that invalid ones are stored and ignored",
      next: "`merlonctl upgrade` restores it",
    },
  ]
}

async function conditions(session: Session): Promise<readonly Checked[]> {
  const lists = await ofServed(knownKinds(session.names), resource => listObjects(session, resource, EVERYWHERE))
  const all = lists.flatMap(({ items }) => items)
  return [...policies(all), ...unjudged(all), ...invariants(all)]
}

/** One line per workload, because all its policies report the same. */
function unjudged(all: readonly AnyObject[]): readonly Checked[] {
  const open = all.filter(object => conditionOf(object, "UnjudgedPorts")?.status === "True")
  return open.slice(0, 1).map((object): Checked => {
    const others = open.length === 1 ? "" : ` (and ${open.length - 1} more)`
    const detail = `${nameOf(object)}${others}: ${conditionOf(object, "UnjudgedPorts")?.message ?? ""}`
    return { what: "policies", verdict: "note", detail }
  })
}

function policies(all: readonly AnyObject[]): readonly Checked[] {
  const own = all.filter(({ kind }) => kind !== "PolicyInvariant")
  const waiting = own.filter(object => conditionOf(object, "Ready")?.status !== "True")
  if (waiting.length === 0)
    return [{ what: "policies", verdict: "well", detail: `${own.length} of ${own.length} are Ready` }]
  return [
    { what: "policies", verdict: "wrong", detail: `${own.length - waiting.length} of ${own.length} are Ready` },
    ...waiting.slice(0, MAX_TOLD).map((object): Checked => {
      const { message = "the control plane has not processed it; is it running?" } = conditionOf(object, "Ready") ?? {}
      return { what: "policies", verdict: "wrong", detail: `${nameOf(object)}: ${message}`, next: whereToLook(object) }
    }),
    ...more(waiting.length - MAX_TOLD, "policies"),
  ]
}

function invariants(all: readonly AnyObject[]): readonly Checked[] {
  const own = all.filter(({ kind }) => kind === "PolicyInvariant")
  const open = own.filter(object => conditionOf(object, "Holds")?.status !== "True")
  if (open.length === 0)
    return [{ what: "invariants", verdict: "well", detail: `${own.length} of ${own.length} PolicyInvariants hold` }]
  return [
    ...open.slice(0, MAX_TOLD).map((object): Checked => {
      const { status = "Unknown", message = "not checked yet" } = conditionOf(object, "Holds") ?? {}
      const verdict = status === "False" ? "wrong" : "unknown"
      const name = nameOf(object)
      // Messages about broken invariants already name them.
      const detail = message.includes(`${object.kind} \`${name.slice(object.kind.length + 1)}\``)
        ? message
        : `${name}: ${message}`
      const next =
        status === "False"
          ? "change the policy that breaks it, or the invariant if it is no longer wanted"
          : whereToLook(object)
      return { what: "invariants", verdict, detail, next }
    }),
    ...more(open.length - MAX_TOLD, "invariants"),
  ]
}

function more(count: number, what: Checked["what"]): readonly Checked[] {
  return count > 0 ? [{ what, verdict: "note", detail: `and ${count} more` }] : []
}

const nameOf = ({ kind, metadata }: AnyObject): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`

function whereToLook({ kind, metadata }: AnyObject): string {
  return `look at \`merlonctl get ${kind.toLowerCase()}/${metadata.name} -n ${metadata.namespace ?? ""} -o yaml\``
}

function conditionOf(
  object: AnyObject,
  wanted: string,
): { readonly status: string; readonly message: string } | undefined {
  for (const condition of listOf(fieldsOf(object.status).conditions)) {
    const { type, status, message } = fieldsOf(condition)
    if (type === wanted) return { status: textOf(status) ?? "Unknown", message: textOf(message) ?? "" }
  }
  return undefined
}
