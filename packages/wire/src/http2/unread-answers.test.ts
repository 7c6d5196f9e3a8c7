// SPDX-License-Identifier: Apache-2.0
// Responses without flow control, to a peer that does not read them.

import { Socket } from "node:net"
import { expect, test } from "vitest"
import { until } from "../http/testing/calls.js"
import { Connection } from "./connection.js"
import type { ConnectionUser } from "./connection-user.js"
import { FRAME } from "./frame.js"
import { frameHeader, headersText } from "./frame-writer.js"

/** A socket whose writes wait until the test releases them. */
class HeldSocket extends Socket {
  #written: (() => void)[] = []

  override _write(_chunk: unknown, _encoding: unknown, written: () => void): void {
    this.#written.push(written)
  }

  override _writev(_chunks: unknown, written: () => void): void {
    this.#written.push(written)
  }

  letOut(): void {
    for (const written of this.#written.splice(0)) written()
  }
}

const ANSWER = "x".repeat(1_000)

class Answering implements ConnectionUser {
  readonly connection: Connection
  answers = 0

  constructor(socket: Socket, server: boolean) {
    const abuseBudget = { burst: 10_000, perSecond: 0 }
    const windows = { streamWindow: 65_535, connectionWindow: 65_535, assumedStreams: 100 }
    this.connection = new Connection(
      { socket, server, headerBytes: 1_000, headerLines: 10, ...windows, abuseBudget },
      this,
    )
    socket.on("drain", () => this.connection.drained())
  }

  opened(): void {
    this.#answer()
  }

  pinged(): void {
    this.#answer()
  }

  goingAway(): void {}
  settingsReceived(): void {}
  finished(): void {}
  chargeReset(): void {}
  closing(): void {}

  isIdleStream(): boolean {
    return true
  }

  #answer(): void {
    this.answers++
    this.connection.output.text(ANSWER)
  }
}

const SETTINGS = frameHeader(0, FRAME.settings, 0, 0)
const PING_ACK = `${frameHeader(8, FRAME.ping, 1, 0)}12345678`

function feed({ connection }: Answering, text: string): void {
  const bytes = Buffer.from(text, "latin1")
  connection.receive(bytes, 0, bytes.length)
}

test("stops reading from a client that does not read its responses, until it does", async () => {
  const socket = new HeldSocket()
  const user = new Answering(socket, true)
  feed(user, SETTINGS)
  for (let id = 1; id < 2_000 && !socket.isPaused(); id += 2) feed(user, headersText(id, "", true))
  expect([socket.isPaused(), user.answers < 1_000]).toEqual([true, true])
  const drained = new Promise(resolve => socket.once("drain", resolve))
  await until(() => {
    socket.letOut()
    return socket.writableLength === 0
  })
  await drained
  expect(socket.isPaused()).toBe(false)
  socket.destroy()
})

test("keeps reading from a server that does not read, because it may be waiting for us", () => {
  const socket = new HeldSocket()
  const user = new Answering(socket, false)
  feed(user, SETTINGS)
  for (let count = 0; count < 1_000; count++) feed(user, PING_ACK)
  expect([user.answers, socket.isPaused(), user.connection.failed]).toEqual([1_000, false, false])
  socket.destroy()
})
