// SPDX-License-Identifier: Apache-2.0
// The workloads of the mesh as proofs see them.

import type { ProofWorkload } from "@merlon/policy"
import type { MeshDirectory } from "../registry/mesh-directory.js"

export function proofWorkloads({ workloads }: Pick<MeshDirectory, "workloads">): readonly ProofWorkload[] {
  return [...workloads.values()].map(({ namespace, name, labels, ports, serviceAccount }) => ({
    namespace,
    name,
    labels,
    serviceAccount,
    ports: ports.map(({ port }) => port),
  }))
}
