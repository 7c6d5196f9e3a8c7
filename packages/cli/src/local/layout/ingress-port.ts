// SPDX-License-Identifier: Apache-2.0
// A port of this machine for callers outside the mesh. It connects them to the proxies behind a Service, round robin, and
// tries the next one if one does not answer. It forwards bytes unchanged; the proxies decide what is allowed.

import { connect, createServer, type Server, type Socket } from "node:net"
import { ConnectionLimiter } from "@merlon/wire/limits"

export interface Target {
  readonly address: string
  readonly port: number
}

// All callers on one machine share an address, so one address gets most of the limit.
const CONNECTIONS = { connections: 1_024, sharePercent: 75 }
const CONNECT_TIMEOUT_MS = 10_000

export class IngressPort {
  readonly #targets: () => readonly Target[]
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #turn = 0

  /** `targets` is called for each connection, because the set of ready proxies changes. */
  constructor(targets: () => readonly Target[]) {
    this.#targets = targets
    const limiter = new ConnectionLimiter(CONNECTIONS)
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, caller => {
      const slot = limiter.accept(caller)
      if (slot === undefined) return
      caller.once("data", () => slot.busy())
      this.#lead(caller)
    })
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject)
        // For example if the process is out of file descriptors: the client has to retry.
        this.#server.on("error", () => undefined)
        resolve()
      })
    })
  }

  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #lead(caller: Socket): void {
    this.#keep(caller)
    const targets = this.#targets()
    const first = this.#turn++ % Math.max(targets.length, 1)
    this.#try(caller, [...targets.slice(first), ...targets.slice(0, first)])
  }

  #try(caller: Socket, [target, ...others]: readonly Target[]): void {
    if (target === undefined || caller.destroyed) {
      caller.destroy()
      return
    }
    const onward = connect({ host: target.address, port: target.port, allowHalfOpen: true, noDelay: true })
    this.#keep(onward)
    const failed = (): void => {
      onward.destroy()
      this.#try(caller, others)
    }
    onward.setTimeout(CONNECT_TIMEOUT_MS, failed)
    onward.once("error", failed)
    onward.once("connect", () => {
      onward.setTimeout(0)
      onward.off("error", failed)
      join(caller, onward)
    })
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    // An error also closes the connection, and the close handler does the rest.
    socket.on("error", () => undefined)
    socket.on("close", () => this.#sockets.delete(socket))
  }
}

function join(a: Socket, b: Socket): void {
  if (a.destroyed) {
    b.destroy()
    return
  }
  a.on("close", () => b.destroy())
  b.on("close", () => a.destroy())
  a.pipe(b)
  b.pipe(a)
  a.resume()
}
