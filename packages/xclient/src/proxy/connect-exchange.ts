// SPDX-License-Identifier: Apache-2.0
// A tunnel that a program opened with CONNECT: once the server is connected, bytes flow both ways. Each direction
// closes independently, with backpressure.

import type { Socket } from "node:net"
import { type BorrowedBytes, HeaderBlock, OutputBuffer, openWire, type WireUser } from "@merlon/wire"
import type { Exchange, ExchangeStart, LocalReply, RequestHead, Responder, ResponseHead } from "@merlon/wire/http"
import { NO_BODY } from "@merlon/wire/http"
import { CallFailure } from "../call/call-failure.js"

/** What a tunnel needs from its proxy. */
export interface TunnellingProxy {
  /** Rejects with a CallFailure. */
  connect(head: RequestHead): Promise<Socket>
  failed(failure: CallFailure, head: RequestHead): LocalReply
  /** Called when the tunnel is over, or could not be opened. */
  finished(): void
}

const ESTABLISHED: ResponseHead = {
  status: 200,
  reason: "Connection established",
  headers: new HeaderBlock(""),
  framing: NO_BODY,
  trailers: false,
}

export class ConnectExchange implements Exchange, WireUser {
  readonly head: RequestHead
  readonly #proxy: TunnellingProxy
  readonly #responder: Responder
  #server: { readonly socket: Socket; readonly output: OutputBuffer } | undefined
  #over = false

  constructor(proxy: TunnellingProxy, responder: Responder, head: RequestHead) {
    this.#proxy = proxy
    this.#responder = responder
    this.head = head
  }

  get responseStarted(): boolean {
    return this.#server !== undefined
  }

  get over(): boolean {
    return this.#over
  }

  get full(): boolean {
    return this.#server?.output.full ?? false
  }

  begin(): ExchangeStart {
    this.#proxy.connect(this.head).then(
      socket => this.#join(socket),
      (error: unknown) => this.#fail(CallFailure.of(error)),
    )
    return "forwarded"
  }

  // Called for the program's bytes.

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#server?.output.bytes(bytes, from, to)
  }

  /**
   * Called first at the end of the request, which has no content, and later at the end of the program's side of the
   * tunnel.
   */
  requestEnd(): void {
    this.flush()
    this.#server?.socket.end()
  }

  flush(): void {
    this.#server?.output.flush()
  }

  drained(): void {
    this.#server?.socket.resume()
  }

  abort(): void {
    this.#server?.socket.destroy()
    this.finish()
  }

  finish(): void {
    if (this.#over) return
    this.#over = true
    this.#proxy.finished()
  }

  // Called for the server's bytes.

  onBytes(bytes: BorrowedBytes, length: number): void {
    if (this.#over) return
    this.#responder.content(bytes, 0, length)
    this.#responder.flush()
    if (this.#responder.full) this.#server?.socket.pause()
  }

  onEnd(): void {
    if (!this.#over) this.#responder.end(undefined)
  }

  onDrain(): void {
    if (!this.#over && !this.full) this.#responder.requestWritable()
  }

  onClose(): void {
    if (!this.#over) this.#responder.breakOff("failed")
  }

  // A request without content cannot be malformed or slow after its head, and nothing is recorded.

  reject(): void {}
  rejectContent(): void {}
  timedOut(): void {}
  replyStatus(): void {}

  #join(socket: Socket): void {
    if (this.#over) {
      socket.destroy()
      return
    }
    openWire(socket, this)
    this.#server = { socket, output: new OutputBuffer(socket) }
    this.#responder.respond(ESTABLISHED)
    this.#responder.flush()
    socket.resume()
  }

  #fail(failure: CallFailure): void {
    if (!this.#over) this.#responder.reply(this.#proxy.failed(failure, this.head))
  }
}
