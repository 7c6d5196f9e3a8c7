// SPDX-License-Identifier: Apache-2.0
// Both directions of a tunnel on an undeclared port, until the application has sent something. Until then it may be an
// HTTP server: the client's bytes are forwarded only while they could not be a request, and an HTTP response ends the
// tunnel. Once the application sends anything else, bytes pass unchecked.

import type { Socket } from "node:net"
import type { HiddenRequest } from "../accept/hidden-request.js"
import type { ProtocolError } from "../enforcement/verdict.js"

export interface WatchedEnds {
  readonly client: Socket
  readonly application: Socket
  /** Has seen the bytes that were already forwarded. */
  readonly hidden: HiddenRequest
  readonly reject: (error: ProtocolError) => void
  /** Set if neither side has sent anything yet: receives the client's bytes if they come first. */
  readonly onFirst: ((chunk: Buffer) => void) | undefined
}

const HTTP = Buffer.from("HTTP/")

export class WatchedTunnel {
  readonly #ends: WatchedEnds
  /** The application's bytes, while they are too few to classify. */
  #received = Buffer.alloc(0)

  constructor(ends: WatchedEnds) {
    this.#ends = ends
  }

  start(): void {
    const { client, application } = this.#ends
    application.on("data", this.#onAnswer)
    application.on("end", this.#onAnswerEnd)
    application.on("drain", this.#onDrain)
    if (client.readableEnded) {
      this.#onEnd()
      return
    }
    client.on("data", this.#onData)
    client.on("end", this.#onEnd)
    client.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    const { client, application, hidden, reject, onFirst } = this.#ends
    if (onFirst !== undefined) {
      client.pause()
      this.#detach()
      onFirst(chunk)
    } else if (hidden.foundIn(chunk)) {
      reject("hidden-request")
    } else if (!application.write(chunk)) {
      client.pause()
    }
  }

  // For some readers the end of input ends a line.
  readonly #onEnd = (): void => {
    const { application, hidden, reject } = this.#ends
    if (hidden.unfinished) reject("hidden-request")
    else application.end()
  }

  readonly #onDrain = (): void => {
    this.#ends.client.resume()
  }

  readonly #onAnswer = (chunk: Buffer): void => {
    const { client, application, reject } = this.#ends
    const received = Buffer.concat([this.#received, chunk])
    this.#received = received
    const compared = Math.min(received.length, HTTP.length)
    if (received.compare(HTTP, 0, compared, 0, compared) === 0) {
      if (compared === HTTP.length) reject("http-answer")
      return
    }
    this.#detach()
    client.write(received)
    application.pipe(client)
    if (client.readableEnded) application.end()
    else client.pipe(application)
  }

  readonly #onAnswerEnd = (): void => {
    const { client } = this.#ends
    if (this.#received.length > 0) client.write(this.#received)
    client.end()
  }

  #detach(): void {
    const { client, application } = this.#ends
    application.off("data", this.#onAnswer)
    application.off("end", this.#onAnswerEnd)
    application.off("drain", this.#onDrain)
    client.off("data", this.#onData)
    client.off("end", this.#onEnd)
  }
}
