// SPDX-License-Identifier: Apache-2.0
// Which replica leads: the holder of a Lease named after the control plane.

import { messageOf } from "@merlon/xds/runtime"
import { componentNames } from "../install/component-names.js"
import { LeaderElection } from "../kubernetes/lease.js"
import type { ControlPlaneOptions } from "../options.js"

/** Prefix of the identity of a replica that runs the embedded cluster: no other process can be its earlier run. */
const WITH_CLUSTER = "embedded/"

/** Unique for this run; not even an earlier run has the same name. */
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
    // A crash must not cost the local mesh a silent quarter of a minute.
    isOver: holder => isEarlierRun(options, holder),
    log: (message, error) => logger.warn({ error: messageOf(error) }, message),
  })
  election.start()
  return election
}
