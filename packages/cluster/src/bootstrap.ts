// SPDX-License-Identifier: Apache-2.0
// Creates what every cluster has from its first start: the system namespaces, the default roles and bindings. Existing
// objects are left unchanged.

import { randomUUID } from "node:crypto"
import { table } from "./kinds/data.js"
import { metaOf } from "./meta/object-meta.js"
import { keyOf } from "./registry/kind.js"
import type { Registry } from "./registry/registry.js"
import { asString, clone, type JsonObject } from "./value.js"
import { now } from "./wire/go-time.js"
import { stringify } from "./wire/json.js"

export async function bootstrap(registry: Registry): Promise<void> {
  const { catalog } = registry
  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    const namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    }
    await ensure(registry, catalog.builtin("", "v1", "namespaces").decode(namespace).object, "namespaces", "")
  }
  for (const role of table<readonly JsonObject[]>("roles")()) {
    const plural = `${asString(role.kind).toLowerCase()}s`
    const kind = catalog.builtin("rbac.authorization.k8s.io", "v1", plural)
    await ensure(registry, kind.decode(role).object, plural, "rbac.authorization.k8s.io")
  }
}

async function ensure(registry: Registry, object: JsonObject, plural: string, group: string): Promise<void> {
  const kind = registry.catalog.builtin(group, "v1", plural)
  const copy = clone(object)
  const meta = metaOf(copy)
  const key = keyOf(kind.info, asString(meta.namespace), asString(meta.name))
  if ((await registry.store.get(key)) !== undefined) return
  copy.metadata = { ...meta, uid: randomUUID(), creationTimestamp: now(registry.clock) }
  await registry.store.commit([{ key, modRevision: 0 }], [{ key, value: stringify(kind.toStored(copy)) }])
}
