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
  /** 0 for any free port. */
  readonly port: number
  /** Read at startup and whenever `credentialsChanged` is called. */
  readonly credentials: () => Credentials
  /** Undefined for an invalid token. Throws if it could not be checked. */
  readonly verifyToken: (token: string) => Promise<Caller | undefined>
  /** Called if the chain and the dates are valid. Undefined if the identity does not belong to the mesh. */
  readonly checkCertificate: (certificate: PeerCertificate) => Caller | Rejection | undefined
  readonly source: ResourceSource
  /** Receives the observations of proxies; without it, proxies send none. */
  readonly observations?: ObservationSink
  /** Why a connected caller may not stay; called periodically and by `recheck`. */
  readonly reject?: (caller: Caller) => Rejection | undefined
  readonly limits?: Partial<ServerLimits>
  readonly observe?: MeshServerObserver
  readonly log?: Log
  readonly now?: () => number
}

/** A running server. */
export interface RunningServer {
  readonly port: number
  /** Applies the new certificate and roots to new connections. */
  credentialsChanged(): void
  /**
   * Checks all connected callers again. Streams end if their certificate expired, was revoked, or chains to a root that
   * is no longer trusted, and if `reject` returns a rejection.
   */
  recheck(reject?: (caller: Caller) => Rejection | undefined): void
  /** Asks all clients to reconnect elsewhere; resolves when the last one has left, or was cut off. */
  drain(): Promise<void>
  close(): Promise<void>
}
