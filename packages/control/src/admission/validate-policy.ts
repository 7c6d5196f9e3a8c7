// SPDX-License-Identifier: Apache-2.0
// Whether a document of one of our kinds may be stored. Every fault is told at once, each with its field; what is odd
// about a valid one is told as a warning, on its own and beside everything else in the cluster.

import {
  analyze,
  type Fault,
  type FaultCode,
  KINDS,
  type KnownWorkload,
  type MeshConfig,
  type PolicyDocument,
  refusal,
  validate,
} from "@merlon/policy"
import { meansTheSame } from "../policies/meaning.js"
import { objectOf, textOf } from "../registry/foreign.js"
import { guestHosts } from "../routes/host-governance.js"
import { type AdmissionAnswer, type AdmissionRequest, nameOf } from "./review.js"

export interface Known {
  readonly documents: readonly PolicyDocument[]
  readonly workloads: readonly KnownWorkload[]
}

export interface ValidateOptions {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
  /** What is in the cluster now; without it nothing is compared. Undefined where it is more than `isComparable` says. */
  readonly known?: () => Known | undefined
}

const MAX_DOCUMENTS = 500
const MAX_PAIRS = 500_000

/** Beyond this, comparing would hold up the API server for too long; `merlonctl analyze` has the time. */
export function isComparable(documents: number, workloads: number): boolean {
  return documents <= MAX_DOCUMENTS && documents * workloads <= MAX_PAIRS
}

const CAUSES: { readonly [Code in FaultCode]?: string } = {
  "missing-field": "FieldValueRequired",
  "empty-value": "FieldValueRequired",
  "unknown-value": "FieldValueNotSupported",
  "too-large": "FieldValueTooLong",
  "wrong-type": "FieldValueTypeInvalid",
  "not-supported": "FieldValueForbidden",
  conflict: "FieldValueForbidden",
}

export function validatePolicy(request: AdmissionRequest, options: ValidateOptions): AdmissionAnswer {
  const { names } = options.mesh
  const { operation, group, kind, subresource, namespace, object, oldObject } = request
  if (operation === "DELETE" || operation === "CONNECT" || subresource !== "") return {}
  const definition = KINDS.find(one => one.kind === kind)
  const ours = definition?.group === "networking" ? names.networkingGroup : names.securityGroup
  if (definition === undefined || group !== ours) {
    // Nobody should ask us about it. Whoever does has installed us wrongly, and believes it to be checked.
    return { refused: { code: 400, reason: "BadRequest", message: `\`${kind}.${group}\` is not validated here` } }
  }
  const { document, faults, warnings } = validate(named(object), names, { namespace })
  const told = warnings.map(({ message }) => message)
  if (document === undefined) {
    // A stored document that is no longer valid must stay deletable, and its status and finalizers writable.
    if (operation === "UPDATE" && (isBeingDeleted(object) || meansTheSame(object, oldObject, names))) {
      return { warnings: [`this document is stored but not in force: ${faults[0]?.message ?? "it is invalid"}`] }
    }
    return { refused: invalid(request, faults), warnings: told }
  }
  return { warnings: [...told, ...guests(document, options), ...compared(document, options)] }
}

/** Who writes routes for another's host most often means everybody's. */
function guests(document: PolicyDocument, { mesh, clusterDomain }: ValidateOptions): readonly string[] {
  if (document.kind !== "MeshService") return []
  const { namespace } = document.metadata
  return guestHosts(document, { clusterDomain, rootNamespace: mesh.names.rootNamespace }).map(
    host =>
      `\`${host}\` is not of the namespace \`${namespace}\`, so this affects callers in \`${namespace}\` alone; write it in the Service's own namespace or in \`${mesh.names.rootNamespace}\` for everybody`,
  )
}

/** A name still to be made up counts as one that is there. */
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

function invalid(request: AdmissionRequest, faults: readonly Fault[]) {
  const name = nameOf(request)
  const { group, kind, namespace } = request
  return {
    code: 422,
    reason: "Invalid",
    message: refusal(name, namespace, faults),
    details: {
      name,
      group,
      kind,
      causes: faults.map(({ code, path, problem, fix }) => ({
        reason: CAUSES[code] ?? "FieldValueInvalid",
        message: `${problem}; ${fix}`,
        field: path,
      })),
    },
  }
}

function compared(document: PolicyDocument, { mesh, known }: ValidateOptions): readonly string[] {
  if (known === undefined) return []
  try {
    const found = known()
    if (found === undefined || !isComparable(found.documents.length, found.workloads.length)) return []
    const { documents, workloads } = found
    const others = documents.filter(other => !isSame(other, document))
    return analyze([...others, document], mesh, workloads)
      .filter(finding => finding.severity !== "info" && isSame(document, { kind: finding.kind, metadata: finding }))
      .map(({ path, why, fix }) => `${path === "" ? "" : `${path}: `}${why}; ${fix}`)
  } catch {
    // Comparing only ever advises: a fault in it must not refuse a valid document.
    return []
  }
}

interface Named {
  readonly kind: string
  readonly metadata: { readonly namespace: string; readonly name: string }
}

function isSame(a: Named, b: Named): boolean {
  return a.kind === b.kind && a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name
}
