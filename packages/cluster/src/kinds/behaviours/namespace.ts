// SPDX-License-Identifier: Apache-2.0
// Namespaces: their deletion waits for their content (`spec.finalizers`) and for their own finalizers, so that a new
// namespace of the same name starts empty.

import { metaOf } from "../../meta/object-meta.js"
import { asArray, asObject, asStrings, dig } from "../../value.js"
import type { Behaviour } from "../behaviour.js"

const CONTENT = "kubernetes"

export const namespace: Behaviour = {
  metaThroughStatus: true,
  selectable: ["status.phase", "name"],
  immortal: new Set(["default", "kube-system", "kube-public"]),
  prepareCreate(object) {
    const spec = asObject(object.spec)
    const finalizers = asStrings(spec.finalizers)
    if (!finalizers.includes(CONTENT)) finalizers.push(CONTENT)
    object.spec = { ...spec, finalizers }
    object.status = { phase: "Active" }
  },
  prepareUpdate(object, old) {
    object.spec = { ...asObject(object.spec), finalizers: asArray(dig(old, "spec", "finalizers")) }
  },
  held: object => asStrings(dig(object, "spec", "finalizers")).length > 0,
  mark(object, time) {
    const meta = metaOf(object)
    if (meta.deletionTimestamp === undefined) meta.deletionTimestamp = time
    object.status = { ...asObject(object.status), phase: "Terminating" }
  },
}
