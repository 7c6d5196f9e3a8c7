// SPDX-License-Identifier: Apache-2.0
// What the user of an HTTP/2 connection chooses, and the events it receives.

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
  /** What a stream, and what all of them together, may bring beyond what is used up. */
  readonly streamWindow: number
  readonly connectionWindow: number
  /** Streams we open at once before the peer has said how many it takes. */
  readonly assumedStreams: number
  /** What both sides keep of the heads that we write, at most; as much as is usual where undefined. */
  readonly writtenTable?: number
  /** Frames that bring nothing: so many at once, and per second from then on. */
  readonly abuseBudget: { readonly burst: number; readonly perSecond: number }
}

/** Whose connection it is: what a new stream means, and when a connection has lived long enough. */
export interface ConnectionUser {
  /** A stream that the peer opens. */
  opened(id: number, list: readonly Field[], error: ListError | undefined, ended: boolean): void
  /** Whether we have not opened it. */
  idleToUs(id: number): boolean
  /** A stream is over. */
  finished(stream: Stream): void
  /** The peer has reset a stream that we had begun to serve, or made us reset it. */
  streamWasted(): void
  /** The peer has said what it can take. */
  settled(): void
  pinged(): void
  /** The peer will open no stream, or answer none after `lastStream`. */
  goingAway(lastStream: number): void
  /** Before the streams end because of a connection error. */
  failing?(debug: string): void
  /** After GOAWAY was written. */
  closing(code: ErrorCode): void
}
