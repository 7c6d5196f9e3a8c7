// SPDX-License-Identifier: Apache-2.0
// The port for proxies: authenticates them, serves their resources and counts both.

import { CLUSTER, ENDPOINTS, HOST_ROUTES, LISTENER, PROXY_RESOURCE, ROUTE_CONFIGURATION } from "@merlon/xds"
import type { MeshServerOptions, ObservationSink } from "@merlon/xds/server"
import type { Authority } from "../authority/authority.js"
import type { ServingCertificate } from "../authority/serving-certificate.js"
import { callerOfCertificate, callerOfToken } from "../callers/callers.js"
import { Invitations } from "../callers/invitations.js"
import { RememberedReviews } from "../callers/remembered-reviews.js"
import type { ConnectedProxies } from "../distribution/connected-proxies.js"
import type { Distribution } from "../distribution/distribution.js"
import type { KeySets } from "../keysets/key-sets.js"
import type { ControlMetrics, PushType } from "../observe/metrics.js"
import type { ControlTracer } from "../observe/tracer.js"
import { traced } from "../observe/traces.js"
import type { ControlPlaneOptions } from "../options.js"

export interface MeshPortParts {
  readonly options: ControlPlaneOptions
  readonly authority: Authority
  readonly serving: ServingCertificate
  readonly distribution: Distribution
  readonly proxies: ConnectedProxies
  readonly keySets: KeySets
  readonly metrics: ControlMetrics
  readonly tracer: ControlTracer
  readonly observations: ObservationSink
}

const PUSH_TYPES: ReadonlyMap<string, PushType> = new Map([
  [PROXY_RESOURCE, "proxy"],
  [LISTENER, "listener"],
  [ROUTE_CONFIGURATION, "route"],
  [CLUSTER, "cluster"],
  [ENDPOINTS, "endpoint"],
  [HOST_ROUTES, "mesh"],
])

export function meshServerOptions(parts: MeshPortParts): MeshServerOptions {
  const { options, authority, serving, distribution, proxies, keySets, metrics, tracer, observations } = parts
  const { client, mesh, listen, logger } = options
  const invitations = new Invitations(client, mesh.names)
  const reviews = new RememberedReviews({ review: token => callerOfToken(client, mesh, token) })
  return {
    host: listen.meshHost ?? listen.host,
    port: listen.meshPort,
    credentials: () => ({
      ...serving.current,
      clientTrustBundle: authority.current.bundle,
      sessions: authority.sessions,
    }),
    verifyToken: token => reviews.callerOf(token),
    checkCertificate: callerOfCertificate,
    source: distribution,
    observations,
    reject: caller => distribution.reject(caller),
    sign: (caller, request, ttlSeconds, nodeId) =>
      traced(tracer, "sign certificate", { node: nodeId }, async () => {
        const rejection = distribution.rejectCertificate(caller) ?? (await invitations.take(caller))
        if (rejection !== undefined) return rejection
        const result = await authority.sign(caller, request, ttlSeconds)
        if (!result.ok) return { code: result.code, message: result.message }
        // A certificate of another workload says nothing about this proxy's own, and a root is retired based on the
        // certificates that proxies are recorded to have.
        if (distribution.mayReportFor(caller, nodeId)) {
          proxies.noteCertificate(nodeId, authority.current.signer, result.certificate.notAfter)
        }
        return result.certificate
      }),
    report: (_, __, unknownKeys) => {
      for (const id of unknownKeys) keySets.reportUnknownKey(id)
    },
    observe: {
      sent: (typeUrl, { bytes }) => metrics.pushed(typeOf(typeUrl), bytes),
      acknowledged: (typeUrl, milliseconds) => metrics.acknowledged(typeOf(typeUrl), milliseconds / 1_000),
      rejected: (typeUrl, nodeId, message) => {
        metrics.rejected(typeOf(typeUrl))
        logger.warn({ node: nodeId, message }, "an update was rejected")
      },
      overdue: (_, nodeId) => logger.warn({ node: nodeId }, "an update has not been acknowledged for a while"),
    },
    log: logger,
  }
}

function typeOf(typeUrl: string): PushType {
  return PUSH_TYPES.get(typeUrl) ?? "other"
}
