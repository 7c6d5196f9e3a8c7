// SPDX-License-Identifier: Apache-2.0
// CRDs: their objects are deleted before the CRD, and every version that was ever stored is recorded.

import { withCondition } from "../../meta/conditions.js"
import { metaOf } from "../../meta/object-meta.js"
import { rejectStatusOnCreate, storageVersion } from "../../schema/crd.js"
import { asObject, asStrings, dig } from "../../value.js"
import type { Behaviour } from "../behaviour.js"

export const CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

export const customResourceDefinition: Behaviour = {
  prepareCreate: rejectStatusOnCreate,
  prepareUpdate(object, old) {
    const storage = storageVersion(object)
    const stored = asStrings(dig(old, "status", "storedVersions"))
    if (storage !== "" && !stored.includes(storage))
      object.status = { ...asObject(object.status), storedVersions: [...stored, storage] }
  },
  mark(object, time) {
    const meta = metaOf(object)
    if (meta.deletionTimestamp === undefined) {
      meta.deletionTimestamp = time
      object.status = withCondition(
        asObject(object.status),
        "Terminating",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        time,
      )
    }
    const finalizers = asStrings(meta.finalizers)
    if (!finalizers.includes(CRD_CLEANUP)) meta.finalizers = [...finalizers, CRD_CLEANUP]
  },
}
