// SPDX-License-Identifier: Apache-2.0
// Policies for tests of proofs, and an invariant that some of them break.

import { meshConfig } from "@merlon/policy/mesh"
import { type PolicyDocument, validate } from "@merlon/policy/resources"
import { policyKey } from "../../policies/stored-policy.js"
import type { ClusterChanges } from "../question.js"

export const MESH = meshConfig()

export function document(kind: string, name: string, spec: object, namespace = "foo"): PolicyDocument {
  const value = {
    apiVersion: `${MESH.names.securityGroup}/${MESH.names.version}`,
    kind,
    metadata: { name, namespace },
    spec,
  }
  const { document: read, errors } = validate(value, MESH.names)
  if (read === undefined) throw new RangeError(errors[0]?.message)
  return read
}

const to = [{ operation: { paths: ["/admin/*"] } }]
const never = [{ name: "only ops", from: [{ source: { notNamespaces: ["ops"] } }], to }]
export const OPS = document("AuthorizationPolicy", "ops", { rules: [{ from: [{ source: { namespaces: ["ops"] } }] }] })
/** Breaks the invariant. */
export const OPEN = document("AuthorizationPolicy", "open", { rules: [{ to }] })
export const INVARIANT = document("PolicyInvariant", "admin", { never })
export const SHADOW = document("PolicyInvariant", "admin", { never, enforcement: "Shadow" })

export function changesOf(...documents: readonly PolicyDocument[]): ClusterChanges {
  return {
    documents: documents.map(one => [policyKey(one.kind, one.metadata.namespace, one.metadata.name), one]),
    workloads: [["foo/web", { namespace: "foo", name: "web", labels: { app: "web" } }]],
  }
}

/** Policies that take long to prove and to compare: many rules of one shape, each slightly different. */
export function slowPolicies(namespace: string, count = 60): readonly PolicyDocument[] {
  const rules = (word: string) =>
    Array.from({ length: 60 }, (_, index) => ({
      to: [{ operation: { paths: [`/${word}/${index}/{*}`, `/${word}*`], methods: ["GET", "POST"] } }],
      from: [{ source: { namespaces: [`n${index}-*`] } }],
    }))
  return Array.from({ length: count }, (_, index) =>
    document(
      "AuthorizationPolicy",
      `w${index}`,
      { action: index % 2 === 0 ? "DENY" : "ALLOW", rules: rules(`p${index}`) },
      namespace,
    ),
  )
}
