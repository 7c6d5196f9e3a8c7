// SPDX-License-Identifier: Apache-2.0
// The application from the side of one HTTP/2 stream, whichever protocol it speaks: send a request, be told of the
// response, in pieces and with back-pressure both ways.

import type { UpstreamFailure } from "../../observe/meters.js"

/** Lower-case names; nothing that belongs to one hop alone. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

export interface ApplicationRequest {
  readonly method: string
  /** Request line and headers as HTTP/1.1 writes them, with the empty line. */
  readonly head: string
  readonly body: "none" | "length" | "chunked"
}

export interface ApplicationResponse {
  readonly status: number
  readonly headers: HeaderList
  /** There is no content. */
  readonly ended: boolean
  /** Content may be followed by trailers. */
  readonly trailers: boolean
}

/** Calls come in this order; none after `onEnd` or `onFailure`, and none at all before `send` has returned. */
export interface ApplicationListener {
  /** Status 1xx. */
  onInformational(status: number, headers: HeaderList): void
  onResponse(response: ApplicationResponse): void
  /** The bytes are the listener's to keep. */
  onContent(bytes: Buffer): void
  onEnd(trailers: HeaderList): void
  onFailure(failure: UpstreamFailure): void
  /** `write` was false and would no longer be. */
  onWritable(): void
}

export interface ApplicationCall {
  /** False where the caller is to wait for `onWritable`. */
  write(chunk: Buffer): boolean
  end(trailers: HeaderList): void
  pause(): void
  resume(): void
  /** Nobody wants the response any more; no call follows. */
  abort(): void
}

export interface Application {
  send(request: ApplicationRequest, listener: ApplicationListener): ApplicationCall
  /** Ends connections that carry nothing. */
  close(): void
}
