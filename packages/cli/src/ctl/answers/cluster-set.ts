// SPDX-License-Identifier: Apache-2.0
// The policies and workloads of a running cluster, as the input of queries.

import type { ProofWorkload } from "@merlon/policy/proof"
import { KINDS, type PolicyDocument, validate } from "@merlon/policy/resources"
import { knownKinds } from "../catalog/known-kinds.js"
import { type AnyObject, coreResource, type Resource } from "../catalog/resource.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { ofServed } from "../lookup/not-found.js"
import type { Session } from "../session.js"
import type { InputLog } from "./inputs.js"
import { workloadsIn } from "./workload-files.js"

const EVERYWHERE = { allNamespaces: true } as GetFlags // of the rest `listObjects` reads only filters, of which there are none

export async function clusterPolicies(
  session: Session,
  log: Pick<InputLog, "skip">,
): Promise<readonly PolicyDocument[]> {
  const security = new Set(KINDS.filter(({ group }) => group === "security").map(({ kind }): string => kind))
  const policies: PolicyDocument[] = []
  const kinds = knownKinds(session.names).filter(({ kind }) => security.has(kind))
  const stored = await ofServed(kinds, async resource => ({ resource, objects: await objectsOf(session, resource) }))
  for (const { resource, objects } of stored) {
    for (const object of objects) {
      const { document, faults } = validate(object, session.names)
      if (document !== undefined) policies.push(document)
      else
        log.skip(
          `${resource.kind} ${object.metadata.namespace}/${object.metadata.name}: it cannot be read: ${faults[0]?.message}`,
        )
    }
  }
  return policies
}

export async function clusterWorkloads(session: Session): Promise<readonly ProofWorkload[]> {
  const pods = (await objectsOf(session, coreResource("pods", "Pod"))).filter(isAlive)
  const services = await objectsOf(session, coreResource("services", "Service"))
  return workloadsIn([...pods, ...services], session.names, session.namespace)
}

function isAlive({ status }: AnyObject): boolean {
  const phase = typeof status === "object" && status !== null && "phase" in status ? status.phase : undefined
  return phase !== "Succeeded" && phase !== "Failed"
}

async function objectsOf(session: Session, resource: Resource): Promise<readonly AnyObject[]> {
  return (await listObjects(session, resource, EVERYWHERE)).items
}

export const idOf = ({ kind, metadata }: PolicyDocument): string => `${kind} ${metadata.namespace}/${metadata.name}`

/** As the server would hold them once the files are applied. */
export function overlaid(
  stored: readonly PolicyDocument[],
  applied: readonly PolicyDocument[],
): readonly PolicyDocument[] {
  const before = new Map(stored.map(document => [idOf(document), document]))
  const changed = applied.map(document => {
    // What exists keeps its age, which decides between PeerAuthentications.
    const { creationTimestamp } = before.get(idOf(document))?.metadata ?? {}
    return creationTimestamp === undefined
      ? document
      : { ...document, metadata: { ...document.metadata, creationTimestamp } }
  })
  return [...new Map([...stored, ...changed].map(document => [idOf(document), document])).values()]
}
