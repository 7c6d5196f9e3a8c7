// SPDX-License-Identifier: Apache-2.0
// What all streams and calls of one server share.

import type { Log } from "../runtime/log.js"
import type { Authenticator, Proven } from "./authenticate.js"
import type { ServerLimits } from "./limits.js"
import type { MeshServerObserver } from "./observer.js"
import type { ResourceSource } from "./source.js"
import type { StreamError } from "./stream-error.js"

/** A stream as the server sees it: whose it is, and how to end it. */
export interface OpenStream {
  readonly proven: Proven | undefined
  readonly peerAddress: string
  end(error: StreamError): void
}

export interface ServerContext {
  readonly source: ResourceSource
  readonly authenticator: Authenticator
  readonly limits: ServerLimits
  readonly observe: MeshServerObserver
  readonly log: Log
  readonly now: () => number
  /** Counts a proven stream, or says why it is one too many. */
  admit(stream: OpenStream): StreamError | undefined
  /** Counts what the stream keeps, or says why that is too much. */
  charge(stream: OpenStream, bytes: number): StreamError | undefined
  closed(stream: OpenStream): void
}
