// SPDX-License-Identifier: Apache-2.0
// A call of a client as whoever serves it sees it: on a connection of this process, or on one that a worker holds.

import type { Status } from "../wire/status.js"
import type { PeerCertificate } from "./peer-certificate.js"

export interface CallPeer {
  readonly address: string
  /** What its certificate proved when it connected. */
  readonly certificate: PeerCertificate | undefined
}

export interface Call {
  readonly peer: CallPeer
  readonly path: string
  user: CallUser | undefined
  readonly over: boolean
  /** Whether to wait for `writable` before the next message. */
  readonly full: boolean
  /** Bytes of messages that wait for the client. */
  readonly waiting: number
  /** What it is proven with; told once, since a token is not kept for as long as a call may last. */
  takeAuthorization(): string | undefined
  /** Messages are told from now on. */
  listen(): void
  /** One message, of parts that follow each other. */
  send(parts: readonly Uint8Array[]): void
  finish(code: Status, message?: string): void
  /** Ends the whole connection, whatever else is on it. */
  cut(): void
}

/** Whose call it is. */
export interface CallUser {
  /** One message, the user's to keep. */
  message(bytes: Buffer): void
  /** The client has said all. */
  ended(): void
  /** More may be sent: `full` was true. */
  writable(): void
  /** Comes once, last, however the call ended. */
  closed(): void
}
