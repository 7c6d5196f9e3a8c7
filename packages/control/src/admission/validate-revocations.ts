// SPDX-License-Identifier: Apache-2.0
// Decides whether the revocation list may be stored: only if every line is valid. Otherwise a typo could silently
// disable a revocation.

import { parseRevocations } from "@merlon/identity"
import type { MeshNames } from "@merlon/policy/mesh"
import { authorityNames } from "../authority/authority-names.js"
import { revocationData, revokesTheSame } from "../authority/revocation-data.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"

export function validateRevocations(request: AdmissionRequest, names: MeshNames): AdmissionAnswer {
  const { operation, group, kind, namespace, name, object, oldObject, subresource } = request
  const { namespace: root, revocationsConfigMap } = authorityNames(names)
  if (group !== "" || kind !== "ConfigMap" || namespace !== root || name !== revocationsConfigMap) return {}
  if (operation === "DELETE" || operation === "CONNECT" || subresource !== "") return {}
  const { errors } = parseRevocations(revocationData(object))
  if (errors.length === 0) return {}
  // A list that was stored while no webhook ran may be invalid. Changing only its labels must stay possible.
  if (operation === "UPDATE" && revokesTheSame(object, oldObject)) {
    return { warnings: errors.map(({ message }) => message) }
  }
  return {
    rejected: {
      error: "invalid-revocations",
      code: 422,
      reason: "Invalid",
      message: `ConfigMap "${name}" is invalid: ${errors.map(({ message }) => message).join("; ")}`,
      details: {
        name,
        group,
        kind,
        causes: errors.map(({ list, message }) => ({ reason: "FieldValueInvalid", message, field: `data.${list}` })),
      },
    },
  }
}
