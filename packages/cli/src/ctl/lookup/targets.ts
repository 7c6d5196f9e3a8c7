// SPDX-License-Identifier: Apache-2.0
// Parses the objects on a command line: `KIND NAME…`, `KIND/NAME…`, and kinds joined by commas.

import type { Resource } from "../catalog/resource.js"
import { usageError } from "../exit.js"
import type { Session } from "../session.js"

export interface Target {
  readonly resource: Resource
  readonly name: string
  readonly namespace: string | undefined
}

export interface Targets {
  readonly resources: readonly Resource[]
  /** Empty for all objects of the kinds. */
  readonly targets: readonly Target[]
}

export async function findTargets(session: Session, words: readonly string[]): Promise<Targets> {
  const [first = "", ...names] = words
  if (first.includes("/")) {
    const targets = await Promise.all(words.map(word => slashed(session, word)))
    return { resources: [], targets }
  }
  const resources = (await Promise.all(first.split(",").map(word => session.catalog.called(word)))).flat()
  const stray = names.find(name => name.includes("/"))
  if (stray !== undefined) throw usageError(`\`${stray}\` names a kind again; write \`KIND NAME…\` or \`KIND/NAME…\``)
  const [resource] = resources
  if (names.length > 0 && (resource === undefined || resources.length > 1)) {
    throw usageError(`\`${first}\` is several kinds; name one kind to pick objects by name`)
  }
  const targets = resource === undefined ? [] : names.map(name => targetOf(session, resource, name))
  return { resources, targets }
}

export async function oneObject(session: Session, kind: string, name: string | undefined): Promise<Target> {
  const { targets } = await findTargets(session, name === undefined ? [kind] : [kind, name])
  const [target, another] = targets
  if (target === undefined || another !== undefined) throw usageError("name one object: `KIND NAME` or `KIND/NAME`")
  return target
}

async function slashed(session: Session, word: string): Promise<Target> {
  const [kind = "", name = "", rest] = word.split("/")
  if (kind === "" || name === "" || rest !== undefined) {
    throw usageError(`\`${word}\` does not have the form KIND/NAME`)
  }
  const [resource, another] = await session.catalog.called(kind)
  if (resource === undefined || another !== undefined) throw usageError(`\`${kind}\` is several kinds; name one`)
  return targetOf(session, resource, name)
}

function targetOf({ namespace }: Session, resource: Resource, name: string): Target {
  return { resource, name, namespace: resource.namespaced ? namespace : undefined }
}
