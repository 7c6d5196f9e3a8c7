// SPDX-License-Identifier: Apache-2.0
// The port held by several processes, so that handshakes, encryption and sockets have cores of their own, while one process
// decides. Processes and not threads: Node hands a connection to a process, but not to a thread. A worker that dies takes its
// connections with it, and their clients come again; it is replaced.

import cluster, { type Worker } from "node:cluster"
import { afterLiving } from "../../lived-time.js"
import { messageOf } from "../../log.js"
import type { Call } from "../call.js"
import type { Door, DoorOptions } from "../door.js"
import type { Issuer } from "../issuers.js"
import { ReadCertificate, type ToldCertificate } from "../peer-certificate.js"
import { Batches } from "./batches.js"
import { FarCall, type Opening } from "./far-call.js"
import { DONE, HELLO, type News, type Order, type Sent } from "./messages.js"

export interface WorkersOptions {
  readonly count: number
  /** A program that calls `MeshServer.work` where its environment has `STREAM_WORKER`. */
  readonly exec: string
  readonly execArgv?: readonly string[]
  /** After which one that has not dealt with what it was told is ended. */
  readonly answerMs?: number
}

/** Not an argument: what an executable finds before its arguments is its own affair. */
export const STREAM_WORKER = "MERLON_STREAM_WORKER"

/** A worker that dies at once must not keep the machine busy with forking. */
const RESPAWN_MS = 1_000
/** One that does nothing for so long serves nobody either, and its proxies could be with another. */
const ANSWER_MS = 30_000

export async function openDoorInWorkers(options: DoorOptions, workers: WorkersOptions): Promise<Door> {
  const door = new StreamWorkers(options, workers)
  await door.opened
  return door
}

class StreamWorkers implements Door {
  readonly opened: Promise<void>
  readonly #options: DoorOptions
  readonly #workers = new Set<Held>()
  /** Who waits for the last connection to go. */
  readonly #awaiting: (() => void)[] = []
  readonly #issuers = new Map<string, Issuer>()
  readonly #answerMs: number
  #port: number
  #isClosing = false

  constructor(options: DoorOptions, { count, exec, execArgv, answerMs }: WorkersOptions) {
    this.#options = options
    this.#answerMs = answerMs ?? ANSWER_MS
    this.#port = options.port
    const settings = execArgv === undefined ? {} : { execArgv: [...execArgv] }
    cluster.setupPrimary({ exec, args: [], serialization: "advanced", ...settings })
    const share = Math.ceil(options.limits.connections / count)
    this.opened = Promise.all(Array.from({ length: count }, () => this.#spawn(share))).then(() => undefined)
    this.opened.catch(() => this.destroy())
  }

  get port(): number {
    return this.#port
  }

  swap(): void {
    const credentials = this.#options.credentials()
    for (const worker of this.#workers) worker.tell({ order: "swap", credentials })
  }

  drain(): void {
    this.#isClosing = true
    for (const worker of this.#workers) worker.tell({ order: "drain" })
  }

  async emptied(): Promise<void> {
    while (this.#open > 0) await new Promise<void>(resolve => void this.#awaiting.push(resolve))
    for (const worker of this.#workers) worker.end()
  }

  destroy(): void {
    this.#isClosing = true
    for (const worker of this.#workers) worker.end()
  }

  get #open(): number {
    let open = 0
    for (const { connections } of this.#workers) open += connections
    return open
  }

  #counted(): void {
    const open = this.#open
    this.#options.counted?.(open)
    if (open === 0) for (const tell of this.#awaiting.splice(0)) tell()
  }

  /** Resolves once it listens. */
  #spawn(connections: number): Promise<void> {
    const { host, log, limits, credentials, serve } = this.#options
    return new Promise((resolve, reject) => {
      const worker: Held = new Held(cluster.fork({ [STREAM_WORKER]: "1" }), this.#answerMs, {
        hello: () =>
          worker.tell({
            order: "open",
            host,
            // The port that all of them share is known by what was asked for, also where that is any.
            port: this.#options.port,
            credentials: credentials(),
            limits: { ...limits, connections },
          }),
        opened: port => {
          this.#port = port
          resolve()
        },
        failed: (why, code) => {
          // In words that Node has for it where no worker is in between.
          const said = code === "EADDRINUSE" ? `address already in use ${host}:${this.#options.port}` : why
          reject(Object.assign(new Error(said), { code }))
          // One that holds no port is of no use: with its end the next attempt begins.
          worker.end()
        },
        said: (level, fields, what) => log[level](fields, what),
        counted: () => this.#counted(),
        serve,
        certificate: told => told && this.#read(told),
        gone: () => {
          this.#workers.delete(worker)
          reject(new Error("a process for streams ended before it listened"))
          this.#counted()
          if (this.#isClosing) return
          log.warn({ worker: worker.pid }, "a process for streams has ended; its proxies connect again")
          setTimeout(() => {
            if (this.#isClosing) return
            this.#spawn(connections).then(
              () => log.info({}, "a process for streams was replaced"),
              (error: unknown) =>
                log.error({ error: messageOf(error) }, "a process for streams could not be replaced yet"),
            )
          }, RESPAWN_MS)
        },
      })
      this.#workers.add(worker)
    })
  }

  /** Thousands have the same few issuers, and each of them comes with words of its own. */
  #read(told: ToldCertificate): ReadCertificate {
    const { issuer } = told
    let known = this.#issuers.get(issuer.chain)
    if (known === undefined) {
      if (this.#issuers.size >= 32) this.#issuers.clear()
      this.#issuers.set(issuer.chain, issuer)
      known = issuer
    }
    return new ReadCertificate({ ...told, issuer: known })
  }
}

interface HeldListener {
  hello(): void
  opened(port: number): void
  failed(why: string, code: string | undefined): void
  said(level: "info" | "warn" | "error", fields: object, what: string): void
  counted(): void
  serve(call: Call): void
  certificate(told: ToldCertificate | undefined): ReadCertificate | undefined
  gone(): void
}

/** One worker, and the calls on its connections. */
class Held {
  connections = 0
  readonly #worker: Worker
  readonly #listener: HeldListener
  readonly #calls = new Map<number, FarCall>()
  readonly #orders: Batches<Order>
  #answered: () => void = () => undefined
  /** Whether it hears what it is told. */
  #listens = false

  constructor(worker: Worker, answerMs: number, listener: HeldListener) {
    this.#worker = worker
    this.#listener = listener
    this.#orders = new Batches({
      send: items => {
        this.#answered = afterLiving(answerMs, () => this.end())
        this.#send({ items })
      },
    })
    worker.on("message", (message: Sent<News>) => this.#heard(message))
    worker.on("error", () => undefined)
    worker.once("exit", () => {
      this.#answered()
      this.connections = 0
      const calls = [...this.#calls.values()]
      this.#calls.clear()
      for (const call of calls) call.closed()
      listener.gone()
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** One that does not listen yet begins with everything as it is then. */
  tell(order: Order): void {
    if (this.#listens) this.#orders.add(order)
  }

  end(): void {
    this.#worker.process.kill("SIGKILL")
  }

  #send(message: Sent<Order>): void {
    // One that has just died says so by its exit.
    if (this.#worker.isConnected()) this.#worker.send(message, () => undefined)
  }

  #heard(message: Sent<News>): void {
    if (message === HELLO) {
      this.#listens = true
      this.#listener.hello()
    } else if (message === DONE) {
      this.#answered()
      this.#orders.done()
    } else {
      for (const news of message.items) this.#take(news)
      this.#send(DONE)
    }
  }

  #take(news: News): void {
    switch (news.news) {
      case "opened":
        this.#listener.opened(news.port)
        break
      case "failed":
        this.#listener.failed(news.why, news.code)
        break
      case "connections":
        this.connections = news.open
        this.#listener.counted()
        break
      case "said":
        this.#listener.said(news.level, news.fields, news.what)
        break
      case "call":
        this.#open(news)
        break
      case "message":
        this.#calls.get(news.call)?.message(news.bytes)
        break
      case "ended":
        this.#calls.get(news.call)?.ended()
        break
      case "taken":
        this.#calls.get(news.call)?.taken(news.bytes)
        break
      case "closed":
        this.#calls.get(news.call)?.closed()
        this.#calls.delete(news.call)
    }
  }

  #open(opening: Opening): void {
    const { address, certificate } = opening
    const peer = { address, certificate: this.#listener.certificate(certificate) }
    const call = new FarCall(opening, peer, order => this.tell(order))
    this.#calls.set(opening.call, call)
    this.#listener.serve(call)
  }
}
