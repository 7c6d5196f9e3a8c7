// SPDX-License-Identifier: Apache-2.0
// Options of an HTTP/2 connection, and the events that its user receives.

import type { Socket } from "node:net"
import type { Field } from "./field.js"
import type { ErrorCode } from "./frame.js"
import type { ListError } from "./hpack/decoder.js"
import type { Stream } from "./stream.js"

export interface ConnectionOptions {
  readonly socket: Socket
  /** Whether the peer opens the streams. */
  readonly server: boolean
  readonly headerBytes: number
  readonly headerLines: number
  /** How many unprocessed bytes a stream, and all of them together, may have. */
  readonly streamWindow: number
  readonly connectionWindow: number
  /** Concurrent streams that we open before the peer has announced its limit. */
  readonly assumedStreams: number
  /** Maximum size of the HPACK table for the heads that we write; the usual size if undefined. */
  readonly writtenTable?: number
  /** Budget for frames without effect: so many at once, then so many per second. */
  readonly abuseBudget: { readonly burst: number; readonly perSecond: number }
}

/** The owner of a connection: it handles new streams and decides when a connection has lived long enough. */
export interface ConnectionUser {
  /** The peer opens a stream. */
  opened(id: number, list: readonly Field[], error: ListError | undefined, ended: boolean): void
  /** Whether the id is of a stream that we have not opened. */
  isIdleStream(id: number): boolean
  /** A stream is over. */
  finished(stream: Stream): void
  /** Charges the peer for a stream that it has reset while we served it, or has made us reset. */
  chargeReset(): void
  /** The peer has sent its settings. */
  settingsReceived(): void
  pinged(): void
  /** The peer will open no further stream, or process none after `lastStream`. */
  goingAway(lastStream: number): void
  /** Called before the streams end because of a connection error. */
  failing?(debug: string): void
  /** Called after GOAWAY was written. */
  closing(code: ErrorCode): void
}
