// SPDX-License-Identifier: Apache-2.0
// Options of the control plane's gRPC port, and its interface while it listens.

import type { Log } from "../runtime/log.js"
import type { ServerLimits } from "./limits.js"
import type { Credentials } from "./listener.js"
import type { MeshServerObserver } from "./observer.js"
import type { PeerCertificate } from "./peer-certificate.js"
import type { ProxyCalls } from "./serve-calls.js"
import type { ObservationSink } from "./serve-observations.js"
import type { Caller, Rejection, ResourceSource } from "./source.js"

export interface MeshServerOptions extends ProxyCalls {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Read at the start and whenever `credentialsChanged` is called. */
  readonly credentials: () => Credentials
  /** Undefined for an invalid token. Throws if it could not be checked. */
  readonly verifyToken: (token: string) => Promise<Caller | undefined>
  /** The chain and the dates are good. Undefined where the identity is not one of the mesh. */
  readonly checkCertificate: (certificate: PeerCertificate) => Caller | Rejection | undefined
  readonly source: ResourceSource
  /** Receives the observations of proxies; without it, proxies send none. */
  readonly observations?: ObservationSink
  /** Why a caller that is connected may not stay; asked now and then, and by `recheck`. */
  readonly reject?: (caller: Caller) => Rejection | undefined
  readonly limits?: Partial<ServerLimits>
  readonly observe?: MeshServerObserver
  readonly log?: Log
  readonly now?: () => number
}

/** A server that listens. */
export interface RunningServer {
  readonly port: number
  /** Connections from now on meet the new certificate and the new roots. */
  credentialsChanged(): void
  /**
   * Asks again whether those who are connected may be: a certificate that expired, was revoked or leads to a root that
   * is trusted no more ends its streams, and so does every caller `reject` says no to.
   */
  recheck(reject?: (caller: Caller) => Rejection | undefined): void
  /** Asks all clients to reconnect elsewhere; resolves when the last one has left, or was cut off. */
  drain(): Promise<void>
  close(): Promise<void>
}
