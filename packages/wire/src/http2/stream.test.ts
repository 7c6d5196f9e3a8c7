// SPDX-License-Identifier: Apache-2.0

import { Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { Connection } from "./connection.js"
import type { ConnectionUser } from "./connection-user.js"
import { FRAME } from "./frame.js"
import { frameHeader, windowUpdateText } from "./frame-writer.js"
import type { Stream } from "./stream.js"
import { frame } from "./testing/frame.js"

const WINDOW = 100_000
const FRAME_BYTES = 10_000

class RecordingSocket extends Socket {
  written = ""

  override _write(chunk: Buffer | string, _encoding: unknown, done: () => void): void {
    this.written += chunk.toString("latin1")
    done()
  }
}

const user: ConnectionUser = {
  opened() {},
  pinged() {},
  goingAway() {},
  settingsReceived() {},
  finished() {},
  chargeReset() {},
  closing() {},
  isIdleStream: () => false,
}

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

interface Receiving {
  readonly socket: RecordingSocket
  readonly stream: Stream
  readonly receive: (bytes: number) => void
}

/** A stream whose content is consumed as it arrives. */
function receiving(expected: number | undefined): Receiving {
  const socket = new RecordingSocket()
  sockets.push(socket)
  const limits = {
    headerBytes: 1_000,
    headerLines: 10,
    assumedStreams: 100,
    abuseBudget: { burst: 1_000, perSecond: 0 },
  }
  const windows = { streamWindow: WINDOW, connectionWindow: 2 ** 31 - 1 }
  const connection = new Connection({ socket, server: false, ...limits, ...windows }, user)
  const stream = connection.open(1)
  stream.expected = expected
  const ignore = (): void => undefined
  stream.user = {
    onContent: (_bytes, from, to) => stream.consumed(to - from),
    ...{ onFields: ignore, onEnd: ignore, onReset: ignore, onSent: ignore, onOver: ignore },
    ...{ onWritable: ignore, onPause: ignore },
  }
  const feed = (bytes: Buffer): void => connection.receive(bytes, 0, bytes.length)
  feed(Buffer.from(frameHeader(0, FRAME.settings, 0, 0), "latin1"))
  return {
    socket,
    stream,
    receive: bytes => {
      for (let left = bytes; left > 0; left -= FRAME_BYTES) feed(frame(FRAME.data, 0, 1, Buffer.alloc(FRAME_BYTES)))
    },
  }
}

describe("the window of a stream", () => {
  it("grows when half of it is consumed", () => {
    const { socket, receive } = receiving(undefined)
    receive(90_000)
    expect(socket.written).toContain(windowUpdateText(1, 50_000))
  })

  it("does not grow for content that fits", () => {
    const { socket, receive } = receiving(WINDOW)
    receive(WINDOW)
    expect(socket.written).not.toContain(frameHeader(4, FRAME.windowUpdate, 0, 1))
  })

  it("grows for content that does not fit, until the rest fits", () => {
    const { socket, stream, receive } = receiving(3 * WINDOW)
    receive(3 * WINDOW)
    expect(stream.expected).toBe(0)
    expect(socket.written.split(windowUpdateText(1, 50_000)).length - 1).toBe(4)
  })
})
