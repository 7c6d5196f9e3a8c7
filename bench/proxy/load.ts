// SPDX-License-Identifier: Apache-2.0
// The caller for HTTP/1.1: a fixed number of connections, each with one request in flight.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { type Load, type LoadFigures, runOrders } from "./orders.js"

export interface LoadOptions {
  readonly host: string
  readonly port: number
  readonly connections: number
  /** Complete requests, sent in turn. */
  readonly requests: readonly string[]
  /** Folder with ca.pem, client.pem and client.key. */
  readonly mtls: string | undefined
  /** Use a new connection for each request. */
  readonly reconnect: boolean
  /** New connections resume the session of the previous one. */
  readonly resume: boolean
  /** Rate over all connections; as fast as possible if undefined. */
  readonly perSecond: number | undefined
}

class Http1Load implements Load {
  readonly #options: LoadOptions
  readonly #texts: readonly Buffer[]
  readonly #credentials: { cert: Buffer; key: Buffer; ca: Buffer } | undefined
  #sockets: (Socket | undefined)[]
  #next = 0
  #session: Buffer | undefined

  constructor(options: LoadOptions) {
    const { mtls, requests, connections } = options
    this.#options = options
    this.#texts = requests.map(text => Buffer.from(text, "latin1"))
    this.#sockets = Array.from({ length: connections })
    const file = (name: string): Buffer => readFileSync(`${mtls}/${name}`)
    if (mtls !== undefined)
      this.#credentials = { cert: file("client.pem"), key: file("client.key"), ca: file("ca.pem") }
  }

  async open(): Promise<void> {
    if (this.#options.reconnect) return
    const opened = this.#sockets.map(async socket => (socket?.writable === true ? socket : this.#connect()))
    this.#sockets = await Promise.all(opened)
  }

  async run(seconds: number): Promise<LoadFigures> {
    const { perSecond, reconnect } = this.#options
    const latenciesMs: number[] = []
    let errors = 0
    let turns = 0
    const started = performance.now()
    const due = async (rate: number): Promise<number> => {
      const at = started + (turns++ * 1_000) / rate
      const wait = at - performance.now()
      if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
      // Timers may fire a little early.
      return Math.min(at, performance.now())
    }
    const caller = async (index: number): Promise<void> => {
      while (performance.now() < started + seconds * 1_000) {
        // The latency of a request begins when it is due, even if all connections are busy then.
        const sent = perSecond === undefined ? performance.now() : await due(perSecond)
        try {
          const socket = this.#sockets[index] ?? (await this.#connect())
          this.#sockets[index] = socket
          const status = await exchange(socket, this.#texts[this.#next++ % this.#texts.length] ?? Buffer.alloc(0))
          if (status === 200) latenciesMs.push(performance.now() - sent)
          else errors++
          if (!reconnect) continue
        } catch {
          errors++
        }
        this.#sockets[index]?.destroy()
        this.#sockets[index] = undefined
      }
    }
    await Promise.all(this.#sockets.map((_, index) => caller(index)))
    return { requests: latenciesMs.length, errors, seconds: (performance.now() - started) / 1_000, latenciesMs }
  }

  async #connect(): Promise<Socket> {
    const { host, port } = this.#options
    const options = { host, port, noDelay: true }
    const credentials = this.#credentials
    if (credentials === undefined) {
      const socket = connect(options)
      await once(socket, "connect")
      return tolerant(socket)
    }
    const session = this.#options.resume ? this.#session : undefined
    const socket = connectTls({ ...options, ...credentials, session, checkServerIdentity: () => undefined })
    socket.on("session", ticket => {
      this.#session = ticket
    })
    await once(socket, "secureConnect")
    if (session !== undefined && !socket.isSessionReused()) throw new Error("the session was not resumed")
    return tolerant(socket)
  }
}

/** A broken connection is noticed by its end. */
function tolerant(socket: Socket): Socket {
  return socket.on("error", () => undefined)
}

function exchange(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = ""
    let missing = -1
    const done = (error: Error | undefined, status = 0): void => {
      socket.off("data", onData)
      socket.off("close", onClose)
      if (error === undefined) resolve(status)
      else reject(error)
    }
    const onClose = (): void => done(new Error("closed"))
    const onData = (chunk: Buffer): void => {
      if (missing < 0) {
        head += chunk.toString("latin1")
        const end = head.indexOf("\r\n\r\n")
        if (end < 0) return
        const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
        missing = Number(length ?? 0) - (head.length - end - 4)
      } else missing -= chunk.length
      if (missing <= 0) done(undefined, Number(head.slice(9, 12)))
    }
    if (socket.destroyed) {
      reject(new Error("closed"))
      return
    }
    socket.on("data", onData)
    socket.on("close", onClose)
    socket.write(request)
  })
}

if (process.argv[2] !== undefined) {
  const options: LoadOptions = JSON.parse(readFileSync(process.argv[2], "utf8"))
  await runOrders(new Http1Load(options))
}
