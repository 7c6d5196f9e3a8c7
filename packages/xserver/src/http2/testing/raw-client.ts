// SPDX-License-Identifier: Apache-2.0
// A client that writes any frames a test wants, valid or not (RFC 9113 section 4.1; RFC 7541 section 6.2.2 for headers,
// never compressed).

import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { eventually, sourceOf } from "@merlon/wire/testing"

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const
export const END_STREAM = 1
export const END_HEADERS = 4
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

export function headerBlock(lines: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, "latin1")
    return Buffer.concat([length(bytes.length), bytes])
  }
  return Buffer.concat(lines.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])))
}

// RFC 7541 section 5.1, with a 7-bit prefix.
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

export const GET: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "a"],
]

export function headersFrame(stream: number, lines = GET, flags = END_STREAM | END_HEADERS): Buffer {
  return frame(FRAME.headers, flags, stream, headerBlock(lines))
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export class RawClient {
  readonly socket: Socket
  readonly frames: Frame[] = []
  #rest: Buffer = Buffer.alloc(0)
  readonly closed: Promise<void>

  constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port }).on("error", () => undefined)
    this.socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]))
    this.socket.on("data", chunk => this.#read(chunk))
    this.closed = new Promise(resolve => this.socket.once("close", () => resolve()))
  }

  send(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames))
  }

  /** The first frame that matches, or undefined if the connection closed before one came. */
  async frame(wanted: (frame: Frame) => boolean): Promise<Frame | undefined> {
    await eventually(() => this.frames.some(wanted) || this.socket.destroyed, {
      what: `a frame comes with ${sourceOf(wanted)}`,
      state: () => `only ${this.frames.map(({ type, stream }) => `type ${type} of stream ${stream}`).join(", ")}`,
      change: signal => Promise.race([this.#data(signal), this.closed]),
    })
    return this.frames.find(wanted)
  }

  async #data(signal: AbortSignal): Promise<void> {
    try {
      await once(this.socket, "data", { signal })
    } catch (error) {
      // A broken connection closes next, and then the result is undefined.
      if (signal.aborted) throw error
    }
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= 9) {
      const size = this.#rest.readUIntBE(0, 3)
      if (this.#rest.length < 9 + size) return
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5)
      const stream = this.#rest.readUInt32BE(5)
      this.frames.push({ type, flags, stream, payload: this.#rest.subarray(9, 9 + size) })
      this.#rest = this.#rest.subarray(9 + size)
    }
  }
}
