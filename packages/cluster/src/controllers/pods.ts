// SPDX-License-Identifier: Apache-2.0
// Removes Pods whose grace period is over and that no kubelet removes: those without a node, and those on an unknown
// node. Without this, such Pods would block the deletion of their namespace forever.

import { metaOf } from "../meta/object-meta.js"
import type { Registry } from "../registry/registry.js"
import type { Entry } from "../store/store.js"
import { asString, asStrings, dig } from "../value.js"
import { DeletionQueue } from "./deletion-queue.js"

const PREFIX = "/registry/pods/"
/** An unknown node may be about to register. Kubernetes checks a second time too before it removes the node's Pods. */
const LOOK_AGAIN_MS = 20_000

export function podCollector(registry: Registry): DeletionQueue {
  return new DeletionQueue(registry.store, PREFIX, entry => collect(registry, entry))
}

async function collect(
  { store, catalog, clock }: Registry,
  { key, object, modRevision }: Entry,
): Promise<number | undefined> {
  const meta = metaOf(object)
  // Removing the last finalizer triggers the queue again.
  if (asStrings(meta.finalizers).length > 0) return undefined
  const left = Date.parse(asString(meta.deletionTimestamp)) - clock()
  if (left > 0) return left
  const node = asString(dig(object, "spec", "nodeName"))
  const nodes = catalog.builtin("", "v1", "nodes")
  if (node !== "" && (await store.get(`${nodes.info.prefix}${node}`)) !== undefined) return LOOK_AGAIN_MS
  const done = await store.commit([{ key, modRevision }], [{ key, delete: true }])
  return done === undefined ? 0 : undefined
}
