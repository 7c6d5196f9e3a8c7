// SPDX-License-Identifier: Apache-2.0
// One xDS stream as a state machine without I/O: requests and wake-ups go in, responses come out. The socket's owner
// calls `next` whenever it can send, so a slow client gets the newest state and never a queue of old ones.

import type { StreamLimits } from "./limits.js"
import type { Rejection, Subscriber } from "./source.js"
import type { StreamError } from "./stream-error.js"

export interface StreamSession<Request, Response> {
  /** Returns an error to end the stream. */
  request(request: Request): StreamError | undefined
  /** Resources of the type have changed. */
  wake(typeUrl: string): void
  /** What to send now, if anything. */
  next(now: number): Response | undefined
  /** When to call `next` again if nothing happens before. */
  readonly deadline: number | undefined
}

export interface SessionOptions {
  readonly subscriber: Subscriber
  readonly mayWatch: (typeUrl: string) => Rejection | undefined
  readonly limits: StreamLimits
  /** Called with the bytes that the subscriptions of the stream take; an error ends the stream. */
  readonly charge?: (bytes: number) => StreamError | undefined
  readonly observe?: SessionObserver
}

export interface SessionObserver {
  /** A response was acknowledged; the difference between `sentAt` and now is the latency. */
  readonly acknowledged?: (typeUrl: string, sentAt: number) => void
  readonly rejected?: (typeUrl: string, message: string) => void
  /** The client has missed the deadline. Called once per response. */
  readonly overdue?: (typeUrl: string) => void
}

/** Length to which a client's rejection message is truncated for the log. */
export const REJECTION_LENGTH = 2_048
