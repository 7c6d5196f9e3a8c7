// SPDX-License-Identifier: Apache-2.0
// A relay between a proxy and the control plane that records the length of every TLS record to the proxy.

import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

const HEADER = 5
const APPLICATION_DATA = 23
/**
 * An HTTP/2 PING (9 + 8 bytes) in TLS 1.3 (type and tag: 17 more), or two of them. Liveness checks, not configuration.
 */
const PINGS: readonly number[] = [34, 51]

export class CountingRelay {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Lengths of the application data records sent to the proxy. */
  readonly #records: number[] = []

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port // a TCP server has an AddressInfo
  }

  static async start(target: number): Promise<CountingRelay> {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const relay = new CountingRelay(server)
    server.on("connection", socket => relay.#join(socket, target))
    return relay
  }

  /** Bytes of application data sent to the proxy, without pings. */
  get bytes(): number {
    return this.#records.filter(length => !PINGS.includes(length)).reduce((sum, length) => sum + length, 0)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(proxy: Socket, target: number): void {
    const control = connect(target, "127.0.0.1")
    for (const socket of [proxy, control]) {
      this.#sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => {
        this.#sockets.delete(socket)
        proxy.destroy()
        control.destroy()
      })
    }
    proxy.pipe(control)
    let rest = Buffer.alloc(0)
    control.on("data", chunk => {
      proxy.write(chunk)
      rest = Buffer.concat([rest, chunk])
      while (rest.length >= HEADER && rest.length >= HEADER + rest.readUInt16BE(3)) {
        const length = rest.readUInt16BE(3)
        if (rest[0] === APPLICATION_DATA) this.#records.push(length)
        rest = rest.subarray(HEADER + length)
      }
    })
  }
}
