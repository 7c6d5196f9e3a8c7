// SPDX-License-Identifier: Apache-2.0
// A connection that has passed the transport stage: plaintext bytes and fixed attributes. The handlers of HTTP/1.1,
// HTTP/2 and TCP start here.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import type { Connection } from "@merlon/policy/authorization"
import type { ApplicationPort } from "../config/application-port.js"

export interface Accepted {
  readonly socket: Socket | TLSSocket
  /** Bytes that were read to classify the connection and that the handler must read first; often empty. */
  readonly head: Buffer
  readonly connection: Connection
  /** Details of the peer's certificate for `x-forwarded-client-cert`; absent on plaintext. */
  readonly certificate: PeerCertificate | undefined
  /** The port in the current configuration: a connection outlives configurations. */
  readonly port: ApplicationPort
  /**
   * Set if neither side has sent anything yet on an undeclared port. The first reader of client bytes gives the socket
   * back, with the bytes put back too, paused and without listeners.
   */
  readonly giveBack?: (() => void) | undefined
}

export interface PeerCertificate {
  readonly uri: string
  /** SHA-256 of the certificate in hex. */
  readonly fingerprint: string
  readonly subject: string
  /** Upper-case hex, as in revocations. */
  readonly serial: string
  readonly dns: readonly string[]
  /** Our own identity on this connection. */
  readonly by: string | undefined
  /** The first certificate of the chain that the peer sent with its own, if any. */
  readonly issuer?: X509Certificate | undefined
}

/** Handlers own the socket from here on and never throw. */
export type ConnectionHandler = (accepted: Accepted) => void
