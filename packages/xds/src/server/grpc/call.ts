// SPDX-License-Identifier: Apache-2.0
// One gRPC call on its stream: messages in, messages out, a status at the end. Data before the handler is attached is
// limited by the stream's window, so an unauthenticated caller cannot make us keep more.

import type {
  Http2Field as Field,
  HeaderListError as ListError,
  Http2Stream as Stream,
  Http2StreamUser as StreamUser,
} from "@merlon/wire"
import { type BorrowedBytes, ByteQueue, HTTP2_ERROR as ERROR } from "@merlon/wire"
import { type MessageError, MessageReader } from "../../wire/message-reader.js"
import { messageText, STATUS, type Status } from "../../wire/status.js"
import type { Connection } from "../listener.js"

/** The handler of a call. */
export interface CallUser {
  /** Called for each message; the handler may keep the buffer. */
  message(bytes: Buffer): void
  /** The client has sent its last message. */
  ended(): void
  /** Called when `full` was true and is now false. */
  writable(): void
  /** Called exactly once, last, however the call ended. */
  closed(): void
}

export interface CallHead {
  readonly path: string
  readonly authorization: string | undefined
}

const MESSAGE_ERRORS: { readonly [error in MessageError]: readonly [Status, string] } = {
  "too-large": ["RESOURCE_EXHAUSTED", "the message is larger than the limit"],
  compressed: ["UNIMPLEMENTED", "compressed messages are not supported; send them uncompressed"],
}

const PREFIX = 5
const CONTENT_TYPE = "application/grpc+proto"

export class GrpcCall implements StreamUser {
  readonly peer: Connection
  readonly path: string
  #authorization: string | undefined
  user: CallUser | undefined
  readonly #stream: Stream
  readonly #reader: MessageReader
  /** Content that arrived before there was a handler. */
  #held: ByteQueue | undefined = new ByteQueue()
  #remoteEnded: boolean
  #begun = false
  /** The status has been sent; nothing may follow it. */
  #finished = false

  constructor(stream: Stream, connection: Connection, head: CallHead, ended: boolean, mostBytes: number) {
    this.#stream = stream
    this.peer = connection
    this.path = head.path
    this.#authorization = head.authorization
    this.#remoteEnded = ended
    this.#reader = new MessageReader(mostBytes)
  }

  takeAuthorization(): string | undefined {
    const authorization = this.#authorization
    this.#authorization = undefined
    return authorization
  }

  get over(): boolean {
    return this.#stream.over
  }

  get full(): boolean {
    return this.#stream.full
  }

  get waiting(): number {
    return this.#stream.waiting + this.peer.socket.writableLength
  }

  listen(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    for (let part = held.take(held.length); part !== undefined; part = held.take(held.length)) {
      this.#take(part, 0, part.length)
    }
    if (this.#remoteEnded) this.#tellEnd()
  }

  send(parts: readonly Uint8Array[]): void {
    if (this.#finished || this.over) return
    this.#begin()
    let length = 0
    for (const part of parts) length += part.length
    const bytes = Buffer.allocUnsafe(PREFIX + length)
    bytes[0] = 0
    bytes.writeUInt32BE(length, 1)
    let at = PREFIX
    for (const part of parts) {
      bytes.set(part, at)
      at += part.length
    }
    this.#stream.sendContent(bytes, 0, bytes.length)
    this.#stream.connection.output.flush()
  }

  finish(code: Status, message = ""): void {
    if (this.#finished || this.over) return
    this.#finished = true
    const trailers: (readonly [string, string])[] = [["grpc-status", String(STATUS[code])]]
    if (message !== "") trailers.push(["grpc-message", messageText(message)])
    const stream = this.#stream
    const { encoder, output } = stream.connection
    if (this.#begun) stream.sendEnd(trailers)
    else {
      encoder.field(":status", "200")
      encoder.field("content-type", CONTENT_TYPE)
      for (const [name, value] of trailers) encoder.field(name, value)
      stream.sendHeaders(encoder.finish(), true)
    }
    output.flush()
  }

  destroy(): void {
    this.peer.socket.destroy()
  }

  #begin(): void {
    if (this.#begun) return
    this.#begun = true
    const { encoder } = this.#stream.connection
    encoder.field(":status", "200")
    encoder.field("content-type", CONTENT_TYPE)
    this.#stream.sendHeaders(encoder.finish(), false)
  }

  #take(bytes: BorrowedBytes, from: number, to: number): void {
    const error = this.#reader.read(bytes, from, to, message => {
      if (!this.#finished) this.user?.message(message)
      return !this.over
    })
    this.#stream.consumed(to - from)
    if (error !== undefined) this.finish(...MESSAGE_ERRORS[error])
  }

  #tellEnd(): void {
    if (this.#finished) return
    if (this.#reader.begun) this.finish("INVALID_ARGUMENT", "the last message is incomplete")
    else this.user?.ended()
  }

  // Events of the stream.

  onFields(_list: readonly Field[], _error: ListError | undefined, _ended: boolean): void {
    // gRPC requests have no trailers; any are ignored.
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#finished) {
      this.#stream.consumed(to - from)
      return
    }
    if (this.#held !== undefined) this.#held.add(bytes, from, to)
    else this.#take(bytes, from, to)
  }

  onEnd(): void {
    this.#remoteEnded = true
    if (this.#held === undefined) this.#tellEnd()
  }

  onReset(): void {
    // `onOver` handles it.
  }

  /** The status has been sent. The client may still be sending, but its content is no longer needed. */
  onSent(): void {
    this.#stream.reset(ERROR.none)
  }

  onOver(): void {
    this.#held = undefined
    this.user?.closed()
  }

  onWritable(): void {
    this.user?.writable()
  }

  onPause(): void {
    // Messages are delivered as they arrive.
  }
}
