// SPDX-License-Identifier: Apache-2.0
// A TCP relay between a store and its etcd that simulates network failures: closes connections, rejects new ones, or
// stops forwarding while connections stay open.

import { connect, createServer, type Server, type Socket } from "node:net"
import { freePort } from "./free-port.js"

export class Gate {
  /** Forwards nothing from the server to the client, while connections stay open. */
  muteAnswers = false
  /** Forwards nothing in either direction. */
  silent = false
  #server: Server | undefined
  readonly #sockets = new Set<Socket>()

  private constructor(
    readonly port: number,
    readonly target: number,
  ) {}

  static async to(target: number): Promise<Gate> {
    const gate = new Gate(await freePort(), target)
    await gate.open()
    return gate
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async open(): Promise<void> {
    this.#server = createServer(client => {
      const server = connect(this.target, "127.0.0.1")
      this.#join(client, server, () => this.silent)
      this.#join(server, client, () => this.silent || this.muteAnswers)
    })
    const server = this.#server
    await new Promise<void>(resolve => server.listen(this.port, "127.0.0.1", resolve))
  }

  /** Closes every connection, but accepts new ones. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Closes every connection and accepts no more. */
  async close(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = new Promise(resolve => server.close(resolve))
    this.cut()
    await closed
  }

  #join(from: Socket, to: Socket, muted: () => boolean): void {
    this.#sockets.add(from)
    from.on("data", data => {
      if (!muted()) to.write(data)
    })
    from.on("error", () => undefined)
    from.on("close", () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}
