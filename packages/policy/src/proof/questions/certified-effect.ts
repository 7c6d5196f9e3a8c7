// SPDX-License-Identifier: Apache-2.0
// The effect of a policy change together with its certificate, and the policies that `proof-check` needs to check it.
// The effect does not depend on the certificate, which has a limit of its own.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import { Certificate, NotCertified } from "../certificate/certificate.js"
import { DocumentsByNamespace } from "../selected.js"
import type { ProofWorkload } from "../workload.js"
import type { AssessOptions, PolicyStep } from "./assess-change.js"
import { type ChangeEffect, changeEffect, setsOf, touchedBy } from "./change-effect.js"

export interface ChangeEvidence {
  /** The text of the file. */
  readonly certificate: string
  /** The policy that changes, with everything that affects its meaning. */
  readonly before: PolicyDocument | undefined
  readonly after: PolicyDocument | undefined
  /** The other policies that select a workload of the certificate. */
  readonly others: readonly PolicyDocument[]
}

export interface CertifiedEffect {
  readonly effect: ChangeEffect
  /** Or why there is none. */
  readonly evidence: ChangeEvidence | { readonly missing: string }
}

export interface CertifiedOptions extends AssessOptions {
  /** Limit of the certificate. */
  readonly maxCharacters: number
}

export function certifiedEffect(
  step: PolicyStep,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  { maxCharacters, ...options }: CertifiedOptions,
): CertifiedEffect {
  const parts: string[] = []
  let size = 0
  const certificate = new Certificate(part => {
    size += part.length
    if (size <= maxCharacters) parts.push(part)
  })
  const { deadline, now } = options.limits
  const isOver = (): boolean => deadline !== undefined && now !== undefined && now() > deadline
  const effect = changeEffect(step, workloads, mesh, {
    ...options,
    comparisons: {
      maxProof: maxCharacters,
      compared: (...compared) => {
        if (size <= maxCharacters && !isOver()) certificate.compared(...compared)
      },
    },
  })
  const touched = touchedBy(step, workloads, mesh)
  if (touched.length === 0) return { effect, evidence: { missing: "no workload was selected" } }
  if (isOver()) return { effect, evidence: { missing: "the time limit was reached" } }
  const [before, after] = [step.before, step.after].map(document => document && bare(document, mesh))
  const all = new DocumentsByNamespace(step.documents, mesh)
  // No other policies apply to the workloads, so the certificate names no other ones.
  const selected = new Set(touched.flatMap(workload => all.selected(workload).documents))
  const others = [...selected].map(document => bare(document, mesh))
  try {
    certificate.end(setsOf({ documents: others, before, after }), mesh)
  } catch (error) {
    if (error instanceof NotCertified) return { effect, evidence: { missing: error.message } }
    throw error
  }
  if (size > maxCharacters) return { effect, evidence: { missing: `it has more than ${maxCharacters} characters` } }
  return { effect, evidence: { certificate: parts.join(""), before, after, others } }
}

/** Without metadata that has no meaning: digests in the certificate must not depend on what clients note there. */
function bare(document: PolicyDocument, { names: { dryRunAnnotation } }: MeshConfig): PolicyDocument {
  const { name, namespace, creationTimestamp, annotations } = document.metadata
  const dryRun = annotations?.[dryRunAnnotation]
  return {
    ...document,
    metadata: {
      name,
      namespace,
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(dryRun !== undefined && { annotations: { [dryRunAnnotation]: dryRun } }),
    },
  }
}
