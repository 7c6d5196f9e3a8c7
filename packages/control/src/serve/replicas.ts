// SPDX-License-Identifier: Apache-2.0
// Wires the replicas of the control plane: how they find, query and answer each other.

import { messageOf } from "@merlon/xds/runtime"
import type { LocalObservations } from "../answers/local-observations.js"
import { answerObservations, followObservations } from "../answers/observations-server.js"
import type { Authority } from "../authority/authority.js"
import { componentNames } from "../install/component-names.js"
import { lastKnownRoleAsOwner } from "../kubernetes/owner-reference.js"
import { LEASES } from "../kubernetes/resource-type.js"
import type { ControlPlaneOptions } from "../options.js"
import { KnownReplicas } from "../replicas/known-replicas.js"
import { OtherReplicas } from "../replicas/other-replicas.js"
import { ReplicaCaller } from "../replicas/replica-caller.js"
import { replicaIdentity } from "../replicas/replica-names.js"
import { ReplicaPublisher } from "../replicas/replica-publisher.js"
import { ReplicaServer } from "../replicas/replica-server.js"
import type { Closers } from "./closers.js"
import { holderName, isEarlierRun } from "./leadership.js"
import type { Reflectors } from "./reflectors.js"

export interface ReplicasParts {
  readonly options: ControlPlaneOptions
  readonly authority: Authority
  readonly reflectors: Reflectors
  readonly isLeader: () => boolean
}

export interface Replicas {
  readonly others: OtherReplicas
  /** Starts to answer the other replicas from these observations. Returns the port. */
  answerFrom(own: LocalObservations): Promise<number>
}

const SWEEP_MS = 5_000

export function keepReplicas({ options, authority, reflectors, isLeader }: ReplicasParts, closers: Closers): Replicas {
  const { client, mesh, replica, listen, logger } = options
  const { names } = mesh
  const warn = (message: string, error: unknown): void => logger.warn({ error: messageOf(error) }, message)
  const identity = replicaIdentity(mesh)
  const serving = authority.serve("replicas", [identity.dnsName], identity.uri)
  const credentials = () => ({
    certificate: serving.current.certificateChain,
    key: serving.current.privateKey,
    trust: authority.current,
  })
  const isOver = (holder: string): boolean => isEarlierRun(options, holder)
  const known = new KnownReplicas({ leases: reflectors.replicas, names, replica, isOver })
  closers.add(() => known.stop())
  const sweep = setInterval(() => {
    if (!isLeader()) return
    for (const lease of known.abandoned) {
      client
        .delete(LEASES, lease, names.rootNamespace)
        .catch((error: unknown) => warn("the lease of a replica that is gone could not be deleted", error))
    }
  }, SWEEP_MS).unref()
  closers.add(() => clearInterval(sweep))
  const caller = new ReplicaCaller({ credentials, identity })
  closers.add(() => caller.close())
  let server: ReplicaServer | undefined
  const credentialsChanged = (): void => {
    caller.credentialsChanged()
    server?.credentialsChanged()
  }
  serving.onChange(credentialsChanged)
  closers.add(authority.onChange(credentialsChanged))
  return {
    others: new OtherReplicas({ known, caller, log: (message, fields) => logger.warn(fields, message) }),
    answerFrom: async own => {
      server = new ReplicaServer({
        credentials,
        identity,
        answer: (path, query) => answerObservations(own, path, query),
        follow: (path, query, reply) => followObservations(own, path, query, reply),
        log: warn,
      })
      const port = await server.listen(listen.replicaPort, listen.host)
      closers.add(() => server?.close())
      const publisher = new ReplicaPublisher({
        ...{ client, names, replica, warn },
        holder: holderName(options),
        address: `${options.replicaHost.includes(":") ? `[${options.replicaHost}]` : options.replicaHost}:${port}`,
        owners: lastKnownRoleAsOwner(client, componentNames(names).controlPlane),
      })
      // Stops before the server does: other replicas must not call one that is about to stop.
      closers.add(() => publisher.stop())
      return port
    },
  }
}
