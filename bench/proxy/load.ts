// SPDX-License-Identifier: Apache-2.0
// The caller: a fixed number of connections, each with one request in flight, for a fixed time. Runs as a process of its
// own, so that what it costs is not counted. Takes its orders as JSON and prints its figures as JSON.

import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"

export interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Whole requests, sent in turn. */
  readonly requests: readonly string[]
  /** Folder with ca.pem, client.pem and client.key. */
  readonly mtls: string | undefined
  /** A new connection for each request. */
  readonly reconnect: boolean
  /** Over all connections; as many as possible where undefined. */
  readonly perSecond: number | undefined
}

export interface LoadFigures {
  readonly requests: number
  readonly errors: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

async function run(order: LoadOrder): Promise<LoadFigures> {
  const latencies: number[] = []
  let next = 0
  let errors = 0
  const started = performance.now()
  const end = started + order.seconds * 1_000
  const texts = order.requests.map(text => Buffer.from(text, "latin1"))
  const tls = order.mtls
  const credentials =
    tls === undefined
      ? undefined
      : {
          cert: readFileSync(`${tls}/client.pem`),
          key: readFileSync(`${tls}/client.key`),
          ca: readFileSync(`${tls}/ca.pem`),
        }

  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: order.port, noDelay: true }
      const socket: Socket =
        credentials === undefined
          ? connect(options, () => resolve(socket))
          : connectTls({ ...options, ...credentials, checkServerIdentity: () => undefined }, () => resolve(socket))
      socket.once("error", reject)
    })

  let turns = 0
  async function due(perSecond: number): Promise<number> {
    const at = started + (turns++ * 1_000) / perSecond
    const wait = at - performance.now()
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    // Timers may fire a little early.
    return Math.min(at, performance.now())
  }

  async function caller(): Promise<void> {
    let socket: Socket | undefined
    while (performance.now() < end) {
      // A request that is due counts from then on, also where all connections are busy.
      const sent = order.perSecond === undefined ? performance.now() : await due(order.perSecond)
      try {
        socket ??= await open()
        const status = await exchange(socket, texts[next++ % texts.length] ?? Buffer.alloc(0))
        if (status === 200) latencies.push(performance.now() - sent)
        else errors++
      } catch {
        errors++
        socket?.destroy()
        socket = undefined
      }
      if (order.reconnect) {
        socket?.destroy()
        socket = undefined
      }
    }
    socket?.destroy()
  }
  await Promise.all(Array.from({ length: order.connections }, caller))
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => Number((latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(3))
  const seconds = (performance.now() - started) / 1_000
  return { requests: latencies.length, errors, seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
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
    socket.on("data", onData)
    socket.on("close", onClose)
    socket.write(request)
  })
}

if (process.argv[2] !== undefined) {
  const order: LoadOrder = JSON.parse(readFileSync(process.argv[2], "utf8"))
  console.log(JSON.stringify(await run(order)))
}
