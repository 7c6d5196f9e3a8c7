// SPDX-License-Identifier: Apache-2.0
// Elects the leading replica: the holder of a Lease that is named after the control plane.

import { messageOf } from "@merlon/xds/runtime"
import { componentNames } from "../install/component-names.js"
import { LeaderElection } from "../kubernetes/lease.js"
import type { ControlPlaneOptions } from "../options.js"

/** Prefix of the identity of a replica with the embedded cluster: such a holder can only be its own earlier run. */
const WITH_CLUSTER = "embedded/"

/** Unique for this run: an earlier run of the replica has another name. */
export function holderName({ replica, hasCluster }: ControlPlaneOptions): string {
  return `${hasCluster ? WITH_CLUSTER : ""}${replica}-${process.pid}-${Date.now().toString(36)}`
}

export function isEarlierRun({ hasCluster }: ControlPlaneOptions, holder: string): boolean {
  return hasCluster && holder.startsWith(WITH_CLUSTER)
}

export function standForElection(options: ControlPlaneOptions): LeaderElection {
  const { client, mesh, logger } = options
  const election = new LeaderElection({
    client,
    namespace: mesh.names.rootNamespace,
    name: componentNames(mesh.names).controlPlane,
    identity: holderName(options),
    // After a crash, the local mesh must not be without a leader for a quarter of a minute.
    isOver: holder => isEarlierRun(options, holder),
    log: (message, error) => logger.warn({ error: messageOf(error) }, message),
  })
  election.start()
  return election
}
