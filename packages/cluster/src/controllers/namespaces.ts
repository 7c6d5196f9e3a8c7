// SPDX-License-Identifier: Apache-2.0
// Empties namespaces that are being deleted, Pods first, and removes them once they are empty. A Pod may still serve, so
// its policies, keys and roles stay until the last Pod is gone.

import { withCondition } from "../meta/conditions.js"
import { metaOf } from "../meta/object-meta.js"
import { qualified } from "../meta/status.js"
import type { Registry } from "../registry/registry.js"
import type { Entry } from "../store/store.js"
import { asObject, asStrings, clone, equal } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"
import { deleteStored } from "./delete-stored.js"
import { DeletionQueue } from "./deletion-queue.js"

const PREFIX = "/registry/namespaces/"
const RETRY_MS = 200

export function namespaceController(registry: Registry): DeletionQueue {
  return new DeletionQueue(registry.store, PREFIX, entry => emptyNamespace(registry, entry))
}

async function emptyNamespace(registry: Registry, entry: Entry): Promise<number | undefined> {
  const { store, catalog } = registry
  const { key } = entry
  if (!asStrings(asObject(entry.object.spec).finalizers).includes("kubernetes")) return undefined
  const name = key.slice(PREFIX.length)
  const pods = `${catalog.builtin("", "v1", "pods").info.prefix}${name}/`
  const namespaced = catalog.kinds().filter(kind => kind.info.namespaced)
  const prefixes = new Set(namespaced.map(kind => `${kind.info.prefix}${name}/`))
  prefixes.delete(pods)
  let remaining = await deleteAll(registry, [pods])
  if (remaining.length === 0) remaining = await deleteAll(registry, prefixes)
  if (remaining.length > 0) {
    await report(registry, entry, remaining)
    return RETRY_MS
  }
  const next = clone(entry.object)
  const spec = asObject(next.spec)
  const finalizers = asStrings(spec.finalizers).filter(item => item !== "kubernetes")
  next.spec = finalizers.length === 0 ? {} : { ...spec, finalizers }
  const held = finalizers.length > 0 || asStrings(metaOf(next).finalizers).length > 0
  const done = await store.commit(
    [{ key, modRevision: entry.modRevision }],
    [held ? { key, value: stringify(next) } : { key, delete: true }],
  )
  return done === undefined ? 0 : undefined
}

/** Deletes everything below the prefixes and returns the objects that could not be removed yet. */
async function deleteAll(registry: Registry, prefixes: Iterable<string>): Promise<Entry[]> {
  const remaining: Entry[] = []
  for (const prefix of prefixes)
    for (const object of (await registry.store.range({ prefix })).entries)
      if (!(await deleteStored(registry, object))) remaining.push(object)
  return remaining
}

/** Reports in the namespace's status which objects still block its deletion. */
async function report(registry: Registry, entry: Entry, remaining: readonly Entry[]): Promise<void> {
  const time = now(registry.clock)
  let status = asObject(clone(entry.object).status)
  const say = (type: string, value: string, reason: string, message: string): void => {
    status = withCondition(status, type, reason, message, time, value)
  }
  const resources = new Map<string, number>()
  const finalizers = new Map<string, number>()
  for (const { key: held, object } of remaining) {
    const kind = registry.catalog.storing(held)
    const title = kind === undefined ? "objects" : qualified({ group: kind.info.group, resource: kind.info.plural })
    resources.set(title, (resources.get(title) ?? 0) + 1)
    for (const name of asStrings(metaOf(object).finalizers)) finalizers.set(name, (finalizers.get(name) ?? 0) + 1)
  }
  const list = (counts: Map<string, number>, text: (name: string, count: number) => string): string =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => text(name, count))
      .join(", ")
  say("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered")
  say(
    "NamespaceDeletionGroupVersionParsingFailure",
    "False",
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  )
  say(
    "NamespaceDeletionContentFailure",
    "False",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  )
  say(
    "NamespaceContentRemaining",
    "True",
    "SomeResourcesRemain",
    `Some resources are remaining: ${list(resources, (name, count) => `${name}${name.includes(".") ? "" : "."} has ${count} resource instances`)}`,
  )
  say(
    "NamespaceFinalizersRemaining",
    "True",
    "SomeFinalizersRemain",
    `Some content in the namespace has finalizers remaining: ${list(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
  )
  if (!equal(status, asObject(entry.object.status)))
    await registry.store.commit(
      [{ key: entry.key, modRevision: entry.modRevision }],
      [{ key: entry.key, value: stringify({ ...entry.object, status }) }],
    )
}
