// SPDX-License-Identifier: Apache-2.0
// One gRPC call on its stream: messages out, messages in, a status at the end. The peer may be broken or hostile, so
// message sizes are limited, and flow control limits unread data.

import type {
  Http2Field as Field,
  HeaderListError as ListError,
  Http2Stream as Stream,
  Http2StreamUser as StreamUser,
} from "@merlon/wire"
import { type BorrowedBytes, HTTP2_ERROR as ERROR } from "@merlon/wire"
import { type MessageError, MessageReader } from "../../wire/message-reader.js"
import { type CallEnd, readEnd, readResponseHead } from "./response-head.js"

/** Receives the events of a call. */
export interface CallUser {
  /** Called for each message; the user may keep the buffer. */
  message(bytes: Buffer): void
  /** Called exactly once, last, however the call ended, but not after `cancel`. */
  ended(end: CallEnd): void
}

const MESSAGE_ERRORS: { readonly [error in MessageError]: CallEnd } = {
  "too-large": { code: "RESOURCE_EXHAUSTED", message: "a message is larger than the limit" },
  compressed: { code: "INTERNAL", message: "a message is compressed, which was not requested" },
}
const NO_ORDER: CallEnd = { code: "INTERNAL", message: "the response is out of order" }
const UNREAD: CallEnd = { code: "RESOURCE_EXHAUSTED", message: "too many unread messages" }

/** From "Errors" in https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. */
const BY_RESET: { readonly [code: number]: string } = {
  [ERROR.refused]: "UNAVAILABLE",
  [ERROR.cancel]: "CANCELLED",
  [ERROR.calm]: "RESOURCE_EXHAUSTED",
  [ERROR.inadequateSecurity]: "PERMISSION_DENIED",
}

const PREFIX = 5
/** Limit of bytes that wait for the control plane to read; one that reads never has so many. */
const UNREAD_BYTES = 16 * 1024 * 1024
/** Cost of an informational response, of which there may be one or two. */
const INFORMATION_COST = 10

export class Call implements StreamUser {
  readonly #stream: Stream
  readonly #user: CallUser
  readonly #reader: MessageReader
  /** Why the connection is gone; undefined while it is open. */
  readonly #lost: () => CallEnd | undefined
  #begun = false
  #end: CallEnd | undefined
  #over = false

  constructor(stream: Stream, user: CallUser, mostBytes: number, lost: () => CallEnd | undefined) {
    this.#stream = stream
    this.#user = user
    this.#reader = new MessageReader(mostBytes)
    this.#lost = lost
  }

  /** Returns whether more can be sent at once. */
  send(message: Uint8Array): boolean {
    if (this.#over) return false
    const bytes = Buffer.allocUnsafe(PREFIX + message.length)
    bytes[0] = 0
    bytes.writeUInt32BE(message.length, 1)
    bytes.set(message, PREFIX)
    this.#stream.sendContent(bytes, 0, bytes.length)
    this.#stream.connection.output.flush()
    if (this.#stream.waiting > UNREAD_BYTES) this.#finish(UNREAD)
    return !this.#over && !this.#stream.full
  }

  /** Ends our side: no further messages. */
  end(): void {
    this.#stream.sendEnd(undefined)
    this.#stream.connection.output.flush()
  }

  cancel(): void {
    this.#over = true
    this.#closeStream()
  }

  #finish(end: CallEnd): void {
    if (this.#over) return
    this.#over = true
    this.#closeStream()
    this.#user.ended(end)
  }

  #closeStream(): void {
    const stream = this.#stream
    if (stream.over) return
    // If the peer has ended the stream normally, we end it normally too; the peer would count a reset against us.
    if (stream.remoteEnded && stream.waiting === 0) stream.sendEnd(undefined)
    else stream.reset(ERROR.cancel)
    stream.connection.output.flush()
  }

  // Events of the stream.

  onFields(list: readonly Field[], error: ListError | undefined, ended: boolean): void {
    if (this.#over) return
    if (error !== undefined) {
      this.#finish({ code: "RESOURCE_EXHAUSTED", message: "the response headers are larger than the limit" })
      return
    }
    if (this.#begun) {
      // A second header section is the trailers, and must be last.
      if (ended) this.#end = readEnd(list)
      else this.#finish(NO_ORDER)
      return
    }
    const head = readResponseHead(list)
    if (head === "informational") {
      if (ended) this.#finish(NO_ORDER)
      else this.#stream.connection.spendBudget(INFORMATION_COST)
      return
    }
    if (head !== "grpc") this.#finish(head)
    else if (ended) this.#end = readEnd(list)
    this.#begun = true
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    if (!this.#over && !this.#begun) this.#finish(NO_ORDER)
    if (this.#over) return
    const error = this.#reader.read(bytes, from, to, message => {
      this.#user.message(message)
      return !this.#over
    })
    this.#stream.consumed(to - from)
    if (error !== undefined) this.#finish(MESSAGE_ERRORS[error])
  }

  onEnd(): void {
    if (this.#reader.begun && this.#end?.code === "OK") this.#finish(NO_ORDER)
    else this.#finish(this.#end ?? readEnd([]))
  }

  onReset(code: number): void {
    this.#finish(
      this.#lost() ?? { code: BY_RESET[code] ?? "INTERNAL", message: "the control plane aborted the stream" },
    )
  }

  onSent(): void {
    // The response is still to come.
  }

  onOver(): void {
    // `onEnd` and `onReset` report why.
  }

  onWritable(): void {
    // A caller with more to send retries by itself.
  }

  onPause(): void {
    // Messages are delivered as they arrive.
  }
}
