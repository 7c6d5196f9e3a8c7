// SPDX-License-Identifier: Apache-2.0
// One xDS stream on its socket: feeds the session, and writes one response at a time. The session computes a response
// only when it can be written, so nothing queues up here.

import { AuthenticatedStream } from "./authenticated-stream.js"
import type { GrpcCall } from "./grpc/call.js"
import type { DiscoveryRequests, PlainResponse, StreamProtocol } from "./protocols.js"
import type { ServerContext } from "./server-context.js"
import type { SessionObserver, StreamSession } from "./session.js"
import type { Caller, ClientNode, Subscriber } from "./source.js"
import { invalid, type StreamError } from "./stream-error.js"

/** Streams to check. Thousands wake together, and a microtask each would cost more than a check without result. */
let waiting: { look(): void }[] = []

function lookSoon(stream: { look(): void }): void {
  if (waiting.push(stream) > 1) return
  queueMicrotask(() => {
    const woken = waiting
    waiting = []
    for (const each of woken) each.look()
  })
}

export class ServedStream<Request extends DiscoveryRequests, Plain extends PlainResponse>
  extends AuthenticatedStream<Request>
  implements SessionObserver
{
  readonly #protocol: StreamProtocol<Request, Plain>
  #session: StreamSession<Request, Plain> | undefined
  #subscriber: Subscriber | undefined
  #nodeId = ""
  #writing = false
  #scheduled = false
  #deadline: NodeJS.Timeout | undefined
  #write: NodeJS.Timeout | undefined

  constructor(context: ServerContext, call: GrpcCall, protocol: StreamProtocol<Request, Plain>) {
    super(context, call, protocol.read)
    this.#protocol = protocol
  }

  protected override get logFields(): object {
    return { node: this.#nodeId }
  }

  protected override receive(request: Request, caller: Caller): StreamError | undefined {
    if (this.#session === undefined) {
      const error = this.#open(request, caller)
      if (error !== undefined) return error
    }
    const error = this.#session?.request(request)
    this.#schedule()
    return error
  }

  #open(request: Request, caller: Caller): StreamError | undefined {
    const { source, limits } = this.context
    const id = request.node?.id ?? ""
    if (id.length > limits.nameLength) return invalid(`\`node.id\` has more than ${limits.nameLength} characters`)
    this.#nodeId = id
    const metadata = request.node?.metadata ?? {}
    // Kept for the life of the stream, and much larger in memory than on the wire.
    const metadataBytes = 2 * JSON.stringify(metadata).length
    if (metadataBytes > 2 * limits.metadataLength) {
      return invalid(`\`node.metadata\` has more than ${limits.metadataLength} characters`)
    }
    const node: ClientNode = {
      id,
      metadata,
      peerAddress: this.peerAddress,
    }
    const opened = source.open(caller, node, typeUrl => {
      this.#session?.wake(typeUrl)
      this.#schedule()
    })
    if ("code" in opened) return opened
    this.#subscriber = opened
    this.#session = this.#protocol.session({
      subscriber: opened,
      mayWatch: typeUrl => source.mayWatch(caller, node, typeUrl),
      limits,
      charge: bytes => this.context.charge(this, metadataBytes + bytes),
      observe: this,
    })
    return undefined
  }

  // Events of the session.

  acknowledged(typeUrl: string, sentAt: number): void {
    const { observe, now } = this.context
    observe.acknowledged?.(typeUrl, now() - sentAt)
  }

  rejected(typeUrl: string, message: string): void {
    const node = this.#nodeId
    this.context.log.warn({ node, typeUrl, message }, "a client rejected an update and keeps the previous one")
    this.context.observe.rejected?.(typeUrl, node, message)
  }

  overdue(typeUrl: string): void {
    const node = this.#nodeId
    this.context.log.warn({ node, typeUrl }, "a client has not acknowledged an update in time")
    this.context.observe.overdue?.(typeUrl, node)
  }

  /** Wake-ups come in bursts; one check after the burst covers all of them. */
  #schedule(): void {
    if (this.#scheduled || this.isOver) return
    this.#scheduled = true
    lookSoon(this)
  }

  /** Sends the next response, if there is one. */
  look(): void {
    this.#scheduled = false
    this.guard(() => this.#pump())
  }

  #pump(): undefined {
    const session = this.#session
    if (session === undefined) return
    const now = this.context.now()
    while (!this.isOver && !this.#writing) {
      const response = session.next(now)
      if (response === undefined) {
        if (session.deadline !== undefined) this.#scheduleIn(session.deadline - now)
        return
      }
      this.#respond(response)
    }
  }

  /** An earlier check is never too late for a later request: the deadline is the same for each response. */
  #scheduleIn(milliseconds: number): void {
    if (this.#deadline !== undefined) return
    this.#deadline = setTimeout(
      () => {
        this.#deadline = undefined
        this.#schedule()
      },
      Math.max(1, milliseconds),
    )
  }

  #respond(response: Plain): void {
    this.context.observe.sent?.(response.typeUrl, {
      resources: response.resources.length,
      removed: response.removed?.length ?? 0,
      bytes: response.resources.reduce((bytes, { value }) => bytes + value.length, 0),
    })
    this.call.send(this.#protocol.encode(response))
    if (!this.call.full) return
    this.#writing = true
    this.#write = setTimeout(() => this.call.destroy(), this.context.limits.writeMs)
  }

  override writable(): void {
    clearTimeout(this.#write)
    this.#writing = false
    this.#schedule()
  }

  override closed(): void {
    clearTimeout(this.#write)
    super.closed()
  }

  protected override onEnd(): void {
    clearTimeout(this.#deadline)
    const subscriber = this.#subscriber
    this.#subscriber = undefined
    subscriber?.close()
  }
}
