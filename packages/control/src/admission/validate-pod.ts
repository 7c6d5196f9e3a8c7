// SPDX-License-Identifier: Apache-2.0
// Decides whether a namespace that requires injection accepts a new or changed Pod. The injector checks before other
// webhooks run, this check comes after all of them.

import { hasXserver } from "../registry/application-ports.js"
import { objectOf } from "../registry/foreign.js"
import { unprotected } from "./inject-pod.js"
import { injectionError, updateError } from "./injected-shape.js"
import type { InjectionOptions } from "./injection-options.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"

export function validatePod(request: AdmissionRequest, options: InjectionOptions): AdmissionAnswer {
  const { group, kind, operation, namespace, object, oldObject } = request
  if (group !== "" || kind !== "Pod" || (operation !== "CREATE" && operation !== "UPDATE")) return {}
  // A Pod that is older than the requirement, or from an older version, may stay as it is.
  const isOlder = operation === "UPDATE" && !hasXserver(objectOf(oldObject).spec, options.names)
  if (isOlder) return {}
  const error = operation === "CREATE" ? injectionError(object, options) : updateError(oldObject, object, options)
  if (error === undefined) return {}
  return {
    rejected: { error: "unprotected-pod", code: 422, reason: "Invalid", message: unprotected(namespace, error) },
  }
}
