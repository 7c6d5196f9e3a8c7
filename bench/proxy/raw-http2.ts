// SPDX-License-Identifier: Apache-2.0
// The part of HTTP/2 that a caller and an application need, which must cost less than any proxy between them:
// everything after one read goes out in one write. Peers of a benchmark behave, so only errors that would distort a
// figure are checked.

import type { Socket } from "node:net"
import {
  DEFAULT_WINDOW,
  FOUND,
  FrameReader,
  HpackDecoder,
  HpackEncoder,
  HTTP2_FRAME,
  HTTP2_SETTING,
  type Http2Field,
  headersText,
  MAX_WINDOW,
  pingText,
  windowUpdateText,
} from "@merlon/wire"
import { FLAG } from "../../packages/wire/src/http2/frame.js"
import { frameHeader, SETTINGS_ACK } from "../../packages/wire/src/http2/frame-writer.js"

const PRIORITY_BYTES = 5
const SETTING_BYTES = 6
const HEADER_BYTES = 64 * 1024
const HEADER_LINES = 100

/** A gRPC message: five bytes say that twelve follow, uncompressed. */
export const MESSAGE = `\0\0\0\0\x0c${"\x01".repeat(12)}`

export interface RawUser {
  onFields(stream: number, fields: readonly Http2Field[], ended: boolean): void
  onContentEnd(stream: number): void
  onReset(stream: number): void
}

export class RawConnection {
  readonly #socket: Socket
  readonly #user: RawUser
  readonly #reader = new FrameReader()
  readonly #decoder = new HpackDecoder(HEADER_BYTES, HEADER_LINES)
  readonly #encoder = new HpackEncoder()
  #preface: number
  #out = ""
  #consumed = 0
  #sendWindow = DEFAULT_WINDOW
  readonly #waiting: (() => void)[] = []
  #dataEnds = false

  /** `first` is what this side sends first, `preface` the number of bytes that it receives before the first frame. */
  constructor(socket: Socket, first: string, preface: number, user: RawUser) {
    this.#socket = socket
    this.#preface = preface
    this.#user = user
    this.#out = first + windowUpdateText(0, MAX_WINDOW - DEFAULT_WINDOW)
    socket.on("data", bytes => this.#read(bytes))
    // A broken connection is noticed by its end.
    socket.on("error", () => socket.destroy())
    this.flush()
  }

  get closed(): boolean {
    return this.#socket.destroyed
  }

  headers(stream: number, fields: readonly (readonly [name: string, value: string])[], ended: boolean): void {
    for (const [name, value] of fields) this.#encoder.field(name, value)
    this.#out += headersText(stream, this.#encoder.finish(), ended)
  }

  /** Calls `send`, which sends the content, once the window allows it. */
  whenWindow(content: string, send: () => void): void {
    if (this.#sendWindow < content.length) {
      this.#waiting.push(() => this.whenWindow(content, send))
      return
    }
    this.#sendWindow -= content.length
    send()
  }

  data(stream: number, content: string, ended: boolean): void {
    const flags = ended ? FLAG.endStream : 0
    this.#out += frameHeader(content.length, HTTP2_FRAME.data, flags, stream) + content
  }

  flush(): void {
    if (this.#out === "") return
    this.#socket.write(this.#out, "latin1")
    this.#out = ""
  }

  #read(bytes: Buffer): void {
    const reader = this.#reader
    const passed = Math.min(this.#preface, bytes.length)
    this.#preface -= passed
    let at = passed
    for (;;) {
      const found = reader.read(bytes, at, bytes.length)
      at = reader.next
      if (found === FOUND.nothing) break
      if (found === FOUND.frame) this.#frame()
      else if (found === FOUND.dataHeader) this.#dataEnds = (reader.flags & FLAG.endStream) !== 0
      else if (found === FOUND.data) this.#consumed += reader.end - reader.start
      else if (found === FOUND.dataEnd && this.#dataEnds) this.#user.onContentEnd(reader.stream)
      else if (found === FOUND.error) {
        this.#socket.destroy()
        return
      }
    }
    if (this.#consumed > MAX_WINDOW / 2) {
      this.#out += windowUpdateText(0, this.#consumed)
      this.#consumed = 0
    }
    this.flush()
  }

  #frame(): void {
    const { type, flags, stream, bytes, start, end } = this.#reader
    switch (type) {
      case HTTP2_FRAME.headers:
        this.#fields(start + ((flags & FLAG.priority) === 0 ? 0 : PRIORITY_BYTES))
        return
      case HTTP2_FRAME.settings:
        if ((flags & FLAG.ack) === 0) this.#settings()
        return
      case HTTP2_FRAME.ping:
        if ((flags & FLAG.ack) === 0) this.#out += pingText(true, bytes.toString("latin1", start, end))
        return
      case HTTP2_FRAME.windowUpdate:
        if (stream === 0) this.#widen(bytes.readUInt32BE(start))
        return
      case HTTP2_FRAME.reset:
        this.#user.onReset(stream)
        return
      case HTTP2_FRAME.goaway:
      case HTTP2_FRAME.continuation:
        this.#socket.destroy()
    }
  }

  #settings(): void {
    const { bytes, start, end } = this.#reader
    for (let at = start; at < end; at += SETTING_BYTES) {
      const isTable = bytes.readUInt16BE(at) === HTTP2_SETTING.headerTableSize
      if (isTable) this.#encoder.limitTable(bytes.readUInt32BE(at + 2))
    }
    this.#out += SETTINGS_ACK
  }

  #fields(start: number): void {
    const { flags, stream, bytes, end } = this.#reader
    this.#user.onFields(stream, this.#decoder.decode(bytes, start, end) ?? [], (flags & FLAG.endStream) !== 0)
  }

  #widen(by: number): void {
    this.#sendWindow += by
    for (const send of this.#waiting.splice(0)) send()
  }
}
