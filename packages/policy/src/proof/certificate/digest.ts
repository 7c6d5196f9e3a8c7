// SPDX-License-Identifier: Apache-2.0
// The digest by which a certificate names a policy, computed once for each document.

import { createHash } from "node:crypto"
import type { PolicyDocument } from "../../resources/document.js"
import { canonical } from "./canonical.js"

const digests = new WeakMap<PolicyDocument, string>()

export function digestOf(document: PolicyDocument): string {
  let digest = digests.get(document)
  if (digest === undefined) {
    digest = newDigest(document)
    digests.set(document, digest)
  }
  return digest
}

/** The digest of every part of a policy that is read. */
function newDigest({ kind, metadata, spec }: PolicyDocument): string {
  const { namespace, name, creationTimestamp = null, annotations = {} } = metadata
  const read = canonical([kind, { namespace, name }, creationTimestamp, annotations, spec])
  return createHash("sha256").update(read).digest("hex")
}

export const sameDocuments = (a: readonly PolicyDocument[], b: readonly PolicyDocument[]): boolean =>
  a.length === b.length &&
  a.every((document, at) => document === b[at] || digestOf(document) === digestOf(b[at] ?? document))
