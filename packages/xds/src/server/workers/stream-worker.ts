// SPDX-License-Identifier: Apache-2.0
// A process that holds connections for the control plane: handshakes, HTTP/2 and what a client may cost before it has proven
// anything. Who is let in and what is said is decided elsewhere. It ends with the process it works for.

import { messageOf } from "../../log.js"
import type { CallUser } from "../call.js"
import { type LocalDoor, openDoor } from "../door.js"
import type { GrpcCall } from "../grpc/call.js"
import type { Credentials } from "../listener.js"
import { Batches } from "./batches.js"
import { DONE, HELLO, type News, type Order, type Sent } from "./messages.js"

/** What clients say faster than it is dealt with: above this nobody is read any more, until that has been done. */
const MOST_WAITING = 4 * 1024 * 1024

type Opening = Extract<Order, { readonly order: "open" }>

export function runStreamWorker(): void {
  const calls = new Map<number, HeldCall>()
  let next = 1
  let door: LocalDoor | undefined
  let credentials: Credentials | undefined
  const send = (message: Sent<News>): void => void process.send?.(message)
  const news = new Batches<News>({
    send: items => send({ items }),
    waiting: bytes => door?.pause(bytes > MOST_WAITING),
  })
  const say = (level: "info" | "warn" | "error") => (fields: object, what: string) =>
    news.add({ news: "said", level, fields, what })

  function serve(call: GrpcCall): void {
    const number = next++
    calls.set(number, new HeldCall(number, call, news, () => calls.delete(number)))
  }

  async function open({ host, port, limits, credentials: first }: Opening): Promise<void> {
    credentials = first
    door = await openDoor({
      host,
      port,
      credentials: () => credentials ?? first,
      limits,
      log: { info: say("info"), warn: say("warn"), error: say("error") },
      serve,
      counted: connections => news.add({ news: "connections", open: connections }),
    })
    // What was said meanwhile was said to nobody.
    if (credentials !== first) door.swap()
    news.add({ news: "opened", port: door.port })
  }

  function obey(order: Order): void {
    switch (order.order) {
      case "open":
        open(order).catch((error: NodeJS.ErrnoException) =>
          news.add({ news: "failed", why: messageOf(error), code: error.code }),
        )
        break
      case "swap":
        credentials = order.credentials
        door?.swap()
        break
      case "drain":
        door?.drain()
        break
      default:
        // One that has ended meanwhile is told of already.
        calls.get(order.call)?.obey(order)
    }
  }

  process.on("message", (message: Sent<Order>) => {
    if (message === DONE) news.done()
    else if (message !== HELLO) {
      for (const order of message.items) obey(order)
      send(DONE)
    }
  })
  // Signals go to the whole process group; the control plane alone decides what they mean.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined)
  process.on("disconnect", () => process.exit(0))
  send(HELLO)
}

/** A call that waits here for what somebody else says to it. */
class HeldCall implements CallUser {
  readonly #call: GrpcCall
  readonly #number: number
  readonly #news: Batches<News>
  readonly #gone: () => void
  #sent = 0

  constructor(number: number, call: GrpcCall, news: Batches<News>, gone: () => void) {
    this.#call = call
    this.#number = number
    this.#news = news
    this.#gone = gone
    const { path, peer } = call
    const authorization = call.takeAuthorization()
    const { address } = peer
    const certificate = peer.certificate?.told
    news.add({ news: "call", call: number, path, authorization, address, certificate }, authorization?.length)
    call.user = this
  }

  obey(order: Extract<Order, { readonly call: number }>): void {
    const call = this.#call
    switch (order.order) {
      case "listen":
        call.listen()
        break
      case "send":
        for (const { length } of order.parts) this.#sent += length
        call.send(order.parts)
        if (!call.full) this.writable()
        break
      case "finish":
        call.finish(order.code, order.message)
        break
      case "cut":
        call.cut()
    }
  }

  message(bytes: Buffer): void {
    this.#news.add({ news: "message", call: this.#number, bytes }, bytes.length)
  }

  ended(): void {
    this.#news.add({ news: "ended", call: this.#number })
  }

  writable(): void {
    this.#news.add({ news: "taken", call: this.#number, bytes: this.#sent })
  }

  closed(): void {
    this.#gone()
    this.#news.add({ news: "closed", call: this.#number })
  }
}
