// SPDX-License-Identifier: Apache-2.0
// Decides whether a document of one of our kinds may be stored. All errors are reported at once, each with its field;
// suspicious but valid settings are warnings. Findings that depend on other documents are in `assessment.ts`.

import type { MeshConfig } from "@merlon/policy/mesh"
import {
  type DocumentError,
  type DocumentErrorCode,
  KINDS,
  type PolicyDocument,
  rejection,
  validate,
} from "@merlon/policy/resources"
import { meansTheSame } from "../policies/meaning.js"
import { objectOf, textOf } from "../registry/foreign.js"
import { guestHosts } from "../routes/host-governance.js"
import { type AdmissionAnswer, type AdmissionRequest, nameOf, type Rejected } from "./review.js"

export interface ValidateOptions {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
}

export interface PolicyAnswer extends AdmissionAnswer {
  /** The parsed document, if it may be stored. */
  readonly accepted?: PolicyDocument
}

const CAUSES: { readonly [Code in DocumentErrorCode]?: string } = {
  "missing-field": "FieldValueRequired",
  "empty-value": "FieldValueRequired",
  "unknown-value": "FieldValueNotSupported",
  "too-large": "FieldValueTooLong",
  "wrong-type": "FieldValueTypeInvalid",
  "not-supported": "FieldValueForbidden",
  conflict: "FieldValueForbidden",
}

export function validatePolicy(request: AdmissionRequest, options: ValidateOptions): PolicyAnswer {
  const { names, providers } = options.mesh
  const { operation, group, kind, subresource, namespace, object, oldObject } = request
  if (operation === "DELETE" || operation === "CONNECT" || subresource !== "") return {}
  const definition = KINDS.find(one => one.kind === kind)
  const ours = definition?.group === "networking" ? names.networkingGroup : names.securityGroup
  if (definition === undefined || group !== ours) {
    // The webhook is not registered for this kind. A request for it means that a wrong installation relies on the
    // check.
    return {
      rejected: {
        error: "wrong-webhook",
        code: 400,
        reason: "BadRequest",
        message: `\`${kind}.${group}\` is not validated here`,
      },
    }
  }
  const { document, errors, warnings } = validate(named(object), names, { namespace, providers })
  const messages = warnings.map(({ message }) => message)
  if (document === undefined) {
    // A stored document that is no longer valid must stay deletable, and its status and finalizers writable.
    if (operation === "UPDATE" && (isBeingDeleted(object) || meansTheSame(object, oldObject, names))) {
      return { warnings: [`this document is stored but not enforced: ${errors[0]?.message ?? "it is invalid"}`] }
    }
    return { rejected: invalid(request, errors), warnings: messages }
  }
  return { warnings: [...messages, ...otherHostWarnings(document, options)], accepted: document }
}

/** Warns about routes for a host of another namespace: their author usually expects them to apply to all callers. */
function otherHostWarnings(document: PolicyDocument, { mesh, clusterDomain }: ValidateOptions): readonly string[] {
  if (document.kind !== "MeshService") return []
  const { namespace } = document.metadata
  return guestHosts(document, { clusterDomain, rootNamespace: mesh.names.rootNamespace }).map(
    host =>
      `\`${host}\` is not in the namespace \`${namespace}\`, so this affects only callers in \`${namespace}\`; to affect all callers, create it in the Service's namespace or in \`${mesh.names.rootNamespace}\``,
  )
}

/** A name that will be generated counts as present. */
function named(object: unknown): unknown {
  const { metadata } = objectOf(object)
  const { name, generateName } = objectOf(metadata)
  const prefix = textOf(generateName)
  if (textOf(name) !== undefined || prefix === undefined) return object
  return { ...objectOf(object), metadata: { ...objectOf(metadata), name: `${prefix}x` } }
}

function isBeingDeleted(object: unknown): boolean {
  return textOf(objectOf(objectOf(object).metadata).deletionTimestamp) !== undefined
}

function invalid(request: AdmissionRequest, errors: readonly DocumentError[]): Rejected {
  const name = nameOf(request)
  const { group, kind, namespace } = request
  return {
    error: "invalid-policy",
    code: 422,
    reason: "Invalid",
    message: rejection(name, namespace, errors),
    details: {
      name,
      group,
      kind,
      causes: errors.map(({ code, path, problem, fix }) => ({
        reason: CAUSES[code] ?? "FieldValueInvalid",
        message: `${problem}; ${fix}`,
        field: path,
      })),
    },
  }
}
