// SPDX-License-Identifier: Apache-2.0
// Queries the control plane's observations through the cluster's API, with the permissions of the current user.

import { ApiError } from "@merlon/control/kubernetes"
import { CommandError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { installedMeshes, printMeshes } from "../mesh/discover-mesh.js"
import type { Session } from "../session.js"
import { printError, visible } from "../terminal.js"

export interface ObservedList {
  readonly items: readonly Observation[]
  /** All fields of the list but its items. */
  readonly notes: Fields
}

export interface Observation {
  readonly namespace: string
  readonly name: string
  readonly spec: Fields
}

export interface AnswersQuery {
  readonly resource:
    | "calls"
    | "callers"
    | "changes"
    | "decisions"
    | "destinations"
    | "diffs"
    | "rules"
    | "proxies"
    | "readiness"
    | "workloads"
  /** All namespaces if absent. */
  readonly namespace: string | undefined
  readonly name?: string
  readonly query?: URLSearchParams
}

export function observedPath({ names }: Session, { resource, namespace, name, query }: AnswersQuery): string {
  const steps = ["apis", `answers.${names.domain}`, "v1alpha1"]
  if (namespace !== undefined) steps.push("namespaces", namespace)
  steps.push(resource)
  if (name !== undefined) steps.push(name)
  const search = query?.toString() ?? ""
  return `/${steps.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`
}

export async function observedList(session: Session, query: AnswersQuery): Promise<ObservedList> {
  const { items, ...notes } = fieldsOf(await queried(session, query))
  const silent = textsIn(notes.partial)
  if (silent.length > 0) printError(silentNote(silent))
  return { items: listOf(items).map(observationOf), notes }
}

/** Why a list is incomplete: replicas that did not respond, items beyond the limit, or no answer at all. */
export function gapsIn({ items, notes }: ObservedList, namespace: string | undefined, noun: string): readonly string[] {
  const { remainingItemCount: more } = fieldsOf(notes.metadata)
  const where = namespace === undefined ? "the mesh" : `namespace \`${namespace}\``
  return [
    ...textsIn(notes.partial).map(replica => `what replica ${replica} of the control plane knows: it has not answered`),
    ...(typeof more === "number" && more > 0 ? [`${more} more ${noun}s than one answer holds`] : []),
    ...(items.length === 0 ? [`${where}: it has no ${noun}, or does not exist`] : []),
  ]
}

/** Notes that an empty list is about one namespace only: a user who named none may expect the whole mesh. */
export function printScope({ items }: Pick<ObservedList, "items">, namespace: string | undefined): void {
  if (items.length === 0 && namespace !== undefined) {
    printError(`note: only namespace \`${visible(namespace)}\` was queried; add \`-A\` for all namespaces`)
  }
}

/** Names replicas that did not respond to the one that was queried. */
export function silentNote(silent: readonly string[]): string {
  const [replica, has] = silent.length === 1 ? ["replica", "has"] : ["replicas", "have"]
  return `note: the ${replica} ${silent.map(visible).join(", ")} of the control plane ${has} not answered; what is known there alone is missing`
}

export async function observedOne(session: Session, query: AnswersQuery): Promise<Observation> {
  const observation = observationOf(await queried(session, query))
  const silent = textsIn(observation.spec.partial)
  if (silent.length > 0) printError(silentNote(silent))
  return observation
}

async function queried(session: Session, query: AnswersQuery): Promise<unknown> {
  try {
    return await session.api.request({ method: "GET", path: observedPath(session, query) })
  } catch (error) {
    throw isNowhere(error) ? await nowhere(session) : error
  }
}

function textsIn(value: unknown): readonly string[] {
  return listOf(value).flatMap(one => textOf(one) ?? [])
}

/** Whether the group itself is not served, as opposed to an object in it. */
export function isNowhere(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && !/among|decision/.test(error.message)
}

/** The error for a missing group. If a mesh of another name exists, the control plane is not the reason. */
async function nowhere({ api, names, origin }: Session): Promise<CommandError> {
  const { mesh, domain } = names
  const there = await installedMeshes(api).catch(() => [])
  if (there.some(one => one.mesh === mesh && one.domain === domain)) {
    return new CommandError(
      "control-plane-unreachable",
      `the control plane of \`${mesh}\` (${domain}) does not answer (${origin}); \`merlonctl check\` says what is wrong`,
    )
  }
  const [first] = there
  return new CommandError(
    "not-installed",
    first === undefined
      ? `no mesh is installed in this cluster (${origin}); \`merlonctl install\` installs one`
      : `there is no mesh \`${mesh}\` (${domain}) in this cluster (${origin}), which has ${printMeshes(there)}; pass \`--mesh ${first.mesh} --domain ${first.domain}\``,
  )
}

export function observationOf(value: unknown): Observation {
  const { metadata, spec } = fieldsOf(value)
  const { namespace, name } = fieldsOf(metadata)
  return { namespace: textOf(namespace) ?? "", name: textOf(name) ?? "", spec: fieldsOf(spec) }
}

/** The caller without its trust domain if there is only one. */
export function shortCaller(spec: Fields): string {
  const peer = textOf(spec.peer) ?? textOf(spec.caller)
  if (peer !== undefined) return peer.replace(/^spiffe:\/\/[^/]+\//, "")
  return textOf(spec.from) ?? textOf(spec.source) ?? textOf(spec.address) ?? "-"
}
