// SPDX-License-Identifier: Apache-2.0
// The error for an object that does not exist, with a suggestion from one more request. Users who may not list get no
// suggestion.

import { ApiError } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import { nearest } from "@merlon/policy/shape"
import { pathOf } from "../api/path.js"
import { kindName, pluralName, type Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import type { Session } from "../session.js"
import { visible } from "../terminal.js"

const ACCEPT = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
const MAX_NAMES = 1_000

/** Whether the server does not know the kind at all. The error for a missing object differs. */
export function isUnknownKind(failure: unknown): boolean {
  return (
    failure instanceof ApiError &&
    failure.code === 404 &&
    /could not find the requested resource|404 page not found/.test(failure.message)
  )
}

/** The cluster does not serve the kind. */
class UnknownKind extends CommandError {}

export function unknownKind(resource: Resource, names: MeshNames): UnknownKind {
  const { mesh, domain, securityGroup, networkingGroup } = names
  const ours = resource.group === securityGroup || resource.group === networkingGroup
  const next = ours
    ? `the mesh \`${mesh}\` (${domain}) is not installed there: \`merlonctl install\` installs it, \`--mesh\` and \`--domain\` name another`
    : "install its definition first"
  return new UnknownKind("unserved-kind", `the cluster serves no \`${kindName(resource)}\`; ${next}`)
}

/** Queries several kinds and skips those that are not served: an older version may have installed the cluster. */
export async function ofServed<T>(
  resources: readonly Resource[],
  ask: (resource: Resource) => Promise<T>,
): Promise<readonly T[]> {
  const answers: T[] = []
  let missing: UnknownKind | undefined
  for (const resource of resources) {
    try {
      answers.push(await ask(resource))
    } catch (error) {
      if (!(error instanceof UnknownKind)) throw error
      missing = error
    }
  }
  if (answers.length === 0 && missing !== undefined) throw missing
  return answers
}

export async function notFound(
  session: Session,
  resource: Resource,
  name: string,
  namespace: string | undefined,
): Promise<CommandError> {
  const where = namespace === undefined ? "" : ` in namespace \`${namespace}\``
  const hint = await hintFor(session, resource, name, namespace)
  return new CommandError(
    "not-found",
    `${pluralName(resource)} "${visible(name)}" not found${where}${hint === "" ? "" : `; ${hint}`}`,
  )
}

async function hintFor(
  session: Session,
  resource: Resource,
  name: string,
  namespace: string | undefined,
): Promise<string> {
  const here = await names(session, resource, namespace)
  const meant = nearest(
    name,
    here.map(object => object.name),
  )
  if (meant !== undefined) return `did you mean \`${meant}\`?`
  const elsewhere = namespace === undefined ? [] : await names(session, resource, undefined)
  const places = elsewhere.filter(object => object.name === name).map(object => `\`-n ${object.namespace}\``)
  if (places.length > 0) return `there is one with ${places.slice(0, 5).join(", ")}`
  const some = here.slice(0, 5).map(object => `\`${object.name}\``)
  return some.length === 0 ? "" : `there ${some.length === 1 ? "is" : "are"} ${some.join(", ")}`
}

async function names(
  { api }: Session,
  resource: Resource,
  namespace: string | undefined,
): Promise<readonly { readonly name: string; readonly namespace: string }[]> {
  try {
    const path = pathOf(resource, { namespace }, { limit: MAX_NAMES })
    const { items } = fieldsOf(await api.request({ method: "GET", path, accept: ACCEPT }))
    return listOf(items).map(item => {
      const { name, namespace: place } = fieldsOf(fieldsOf(item).metadata)
      return { name: visible(textOf(name) ?? ""), namespace: visible(textOf(place) ?? "") }
    })
  } catch {
    return []
  }
}
