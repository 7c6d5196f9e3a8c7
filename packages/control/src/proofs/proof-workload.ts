// SPDX-License-Identifier: Apache-2.0
// A workload of the mesh in the form that proofs use.

import type { ProofWorkload } from "@merlon/policy/proof"
import { workloadName } from "../answers/workload-names.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"

export function proofWorkload(workload: MeshWorkload): ProofWorkload {
  const { namespace, name, labels, services, ports, serviceAccount, udpPorts } = workload
  const known = workloadName(workload).slice(namespace.length + 1)
  return {
    ...{ namespace, name, labels, services, serviceAccount },
    ...(known === name ? {} : { runBy: known }),
    ports: ports.map(({ port }) => port),
    ...(udpPorts.length === 0 ? {} : { udpPorts }),
  }
}
