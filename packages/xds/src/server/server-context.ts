// SPDX-License-Identifier: Apache-2.0
// What all streams and calls of one server share.

import type { Log } from "../runtime/log.js"
import type { Authenticated, Authenticator } from "./authenticate.js"
import type { ServerLimits } from "./limits.js"
import type { MeshServerObserver } from "./observer.js"
import type { ResourceSource } from "./source.js"
import type { StreamError } from "./stream-error.js"

/** A stream from the server's point of view: its caller, and how to end it. */
export interface OpenStream {
  readonly authenticated: Authenticated | undefined
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
  /** Counts an authenticated stream; returns an error if it exceeds a limit. */
  admit(stream: OpenStream): StreamError | undefined
  /** Counts the bytes that the stream keeps; returns an error if they exceed a limit. */
  charge(stream: OpenStream, bytes: number): StreamError | undefined
  closed(stream: OpenStream): void
}
