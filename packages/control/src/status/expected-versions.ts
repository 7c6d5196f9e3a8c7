// SPDX-License-Identifier: Apache-2.0
// The versions that a proxy must have acknowledged before a policy counts as enforced: the stored version of the
// policy, and the current keys of its issuers. Computed from the document itself, so that an outdated view never counts
// as the new one.

import type { MeshNames } from "@merlon/policy/mesh"
import { resourceNames } from "@merlon/xds"
import { contentVersion } from "@merlon/xds/runtime"
import type { SecurityPolicy } from "../policies/stored-policy.js"
import { wireDocument } from "../policies/wire-document.js"
import { keySetsOf } from "../snapshot/encoded-policy.js"
import type { ExpectedVersions } from "./enforcement.js"

export function expectedVersions(
  document: SecurityPolicy,
  names: MeshNames,
  jwksOf: (id: string) => string | undefined,
): ExpectedVersions {
  const { kind, metadata } = document
  const name = resourceNames.policy(kind, metadata.namespace, metadata.name)
  const expected = new Map([[name, contentVersion(wireDocument(document, names))]])
  for (const id of keySetsOf(document)) {
    const jwks = jwksOf(id)
    // Without keys, none are sent: the rule rejects its tokens, and there is nothing more to enforce.
    if (jwks !== undefined) expected.set(resourceNames.keySet(id), contentVersion({ id, jwks }))
  }
  return expected
}
