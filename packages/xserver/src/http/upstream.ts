// SPDX-License-Identifier: Apache-2.0
// The application behind a port, from the side of whoever forwards a request to it: send it, be told of the response,
// pause, give up. Which version of HTTP it speaks is not to be seen from here.

import type { FieldPairs, Fields, ResponseHead } from "@merlon/wire"
import type { UpstreamFailure } from "../observe/meters.js"
import type { ForwardedRequest } from "./forwarded-request.js"

/** Calls come in this order; none after `onEnd` or `onFailure`, and none at all before `send` has returned. */
export interface UpstreamListener {
  /** Status 1xx other than 101. */
  onInformational(head: ResponseHead): void
  onResponse(head: ResponseHead): void
  /** The bytes are the listener's only until it returns. */
  onContent(bytes: Buffer, from: number, to: number): void
  onEnd(trailers: Fields | undefined): void
  onFailure(failure: UpstreamFailure): void
  /** All that came at once has been told: the time to write what was gathered. */
  onPause(): void
  /** `full` was true and is no longer. */
  onWritable(): void
}

/** One request on its way. */
export interface UpstreamCall {
  /** `shared` bytes may be overwritten once this returns. */
  content(bytes: Buffer, from: number, to: number, shared: boolean): void
  /** The request is complete, with these header lines after its content. Where it was switched, our side has ended. */
  finishRequest(trailers: FieldPairs): void
  /** What was written may go. */
  flush(): void
  /** Whether the forwarder is to wait for `onWritable`. */
  readonly full: boolean
  pause(): void
  resume(): void
  /** Nobody wants the response any more. No call follows. */
  abort(): void
}

export interface Upstream {
  send(request: ForwardedRequest, listener: UpstreamListener): UpstreamCall
  /** Ends connections that carry nothing; the others after their response. */
  close(): void
}
