// SPDX-License-Identifier: Apache-2.0
// Selects the policies of a workload: those of the root namespace and of its own namespace whose selector matches its
// labels or whose Services select it, oldest first. Each kind decides how several policies combine.

import type { MeshConfig } from "../mesh/config.js"
import type { AuthorizationPolicy, PolicyDocument, RequestAuthentication } from "../resources/document.js"
import { attachesInIstio } from "./istio-attachment.js"
import { byAge, isBehind, selects, targetKey, type Workload } from "./workload.js"

export type SelectedKind = RequestAuthentication | AuthorizationPolicy

export function applies(policy: SelectedKind, workload: Workload, mesh: MeshConfig): boolean {
  const { namespace } = policy.metadata
  const { targetRefs } = policy.spec
  if (mesh.dialect === "istio") {
    const attachment = {
      namespace,
      labels: policy.spec.selector?.matchLabels ?? {},
      targets: targetRefs?.map(targetKey),
    }
    return attachesInIstio(attachment, workload, mesh.names.rootNamespace)
  }
  if (targetRefs !== undefined) return namespace === workload.namespace && isBehind(targetRefs, workload, mesh.names)
  if (namespace !== workload.namespace && namespace !== mesh.names.rootNamespace) return false
  return selects(policy.spec.selector, workload)
}

export function select<K extends SelectedKind["kind"]>(
  kind: K,
  documents: Iterable<PolicyDocument>,
  workload: Workload,
  mesh: MeshConfig,
): readonly Extract<SelectedKind, { kind: K }>[] {
  const selected: Extract<SelectedKind, { kind: K }>[] = []
  for (const document of documents) {
    if (document.kind !== kind) continue
    const policy = document as Extract<SelectedKind, { kind: K }> // by its kind
    if (applies(policy, workload, mesh)) selected.push(policy)
  }
  return selected.sort(byAge)
}
