// SPDX-License-Identifier: Apache-2.0
// One xDS stream on its socket: proves the caller, feeds the session, writes one response at a time. The session decides
// what to say at the moment when it can be written, so nothing queues up here.

import { type ServerDuplexStream, status } from "@grpc/grpc-js"
import { messageOf } from "../log.js"
import type { Proven } from "./authenticate.js"
import type { Connection } from "./listener.js"
import type { DiscoveryRequests, PlainResponse, StreamProtocol } from "./protocols.js"
import type { OpenStream, ServerContext } from "./server-context.js"
import type { StreamSession } from "./session.js"
import type { Caller, ClientNode, Subscriber } from "./source.js"
import { exhausted, invalid, type StreamFault } from "./stream-fault.js"
import { TokenBucket } from "./token-bucket.js"

/** A longer delay would make `setTimeout` fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647

export class ServedStream<Request extends DiscoveryRequests, Plain extends PlainResponse, Response>
  implements OpenStream
{
  proven: Proven | undefined
  readonly #context: ServerContext
  readonly #call: ServerDuplexStream<Request, Response>
  readonly #protocol: StreamProtocol<Request, Plain, Response>
  readonly #connection: Connection | undefined
  readonly #bucket: TokenBucket
  #session: StreamSession<Request, Plain> | undefined
  #subscriber: Subscriber | undefined
  #nodeId = ""
  #writing = false
  #scheduled = false
  #ended = false
  #firstRequest: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  #write: NodeJS.Timeout | undefined
  #cut: NodeJS.Timeout | undefined
  #proofEnds: (() => void) | undefined

  constructor(
    context: ServerContext,
    call: ServerDuplexStream<Request, Response>,
    protocol: StreamProtocol<Request, Plain, Response>,
  ) {
    this.#context = context
    this.#call = call
    this.#protocol = protocol
    this.#connection = context.connectionOf(call.getPeer())
    const { requestBurst, requestsPerSecond } = context.limits
    this.#bucket = new TokenBucket(requestBurst, requestsPerSecond, context.now())
  }

  get peerAddress(): string {
    return this.#connection?.address ?? ""
  }

  async run(): Promise<void> {
    const call = this.#call
    call.once("close", () => this.#dispose())
    call.once("cancelled", () => this.#dispose())
    try {
      const proven = await this.#context.authenticator.authenticate(call.metadata, this.#connection?.certificate)
      if (this.#ended) return
      if ("code" in proven) this.end(proven)
      else this.#listen(proven)
    } catch (error) {
      // Fails closed: a proof that could not be judged is none.
      this.#failed(error)
    }
  }

  #listen(proven: Proven): void {
    const call = this.#call
    this.proven = proven
    const tooMany = this.#context.admit(this)
    if (tooMany !== undefined) {
      this.end(tooMany)
      return
    }
    this.#firstRequest = setTimeout(
      () => this.end({ code: "DEADLINE_EXCEEDED", message: "no request came on the stream" }),
      this.#context.limits.firstRequestMs,
    )
    this.#proofEnds = this.#endWithProof(proven.caller)
    call.on("data", (request: Request) => this.#guard(() => this.#receive(request, proven.caller)))
    call.on("end", () => {
      if (!this.#ended) call.end()
      this.#dispose()
    })
  }

  /** A stream lives no longer than what it was begun with; its client comes again with something younger. */
  #endWithProof({ expiresAt }: Caller): (() => void) | undefined {
    if (expiresAt === undefined) return undefined
    let timer: NodeJS.Timeout | undefined
    const look = (): void => {
      const left = expiresAt - this.#context.now()
      if (left <= 0) this.end({ code: "UNAUTHENTICATED", message: "the token has ended; come again with a new one" })
      else timer = setTimeout(look, Math.min(left, LONGEST_TIMER_MS)).unref()
    }
    look()
    return () => clearTimeout(timer)
  }

  end({ code, message }: StreamFault): void {
    if (this.#ended) return
    this.#dispose()
    this.#context.observe.refused?.(code)
    // Ends the call with this status once what is being written is out; a client that takes nothing is cut off.
    this.#call.emit("error", Object.assign(new Error(message), { code: status[code], details: message }))
    this.#cut = setTimeout(() => this.#connection?.socket.destroy(), this.#context.limits.drainMs)
    this.#cut.unref()
    this.#call.once("close", () => clearTimeout(this.#cut))
  }

  #receive(request: Request, caller: Caller): StreamFault | undefined {
    if (this.#ended) return undefined
    if (!this.#bucket.take(this.#context.now())) return exhausted("too many requests on one stream; slow down")
    if (this.#session === undefined) {
      clearTimeout(this.#firstRequest)
      const fault = this.#open(request, caller)
      if (fault !== undefined) return fault
    }
    const fault = this.#session?.request(request)
    this.#schedule()
    return fault
  }

  #open(request: Request, caller: Caller): StreamFault | undefined {
    const { source, limits, observe, now } = this.#context
    const id = request.node?.id ?? ""
    if (id.length > limits.nameLength) return invalid(`\`node.id\` has more than ${limits.nameLength} characters`)
    this.#nodeId = id
    const metadata = request.node?.metadata ?? {}
    // Kept for as long as the stream lives, and many times larger in memory than on the wire.
    if (JSON.stringify(metadata).length > limits.metadataLength) {
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
      observe: {
        acknowledged: (typeUrl, sentAt) => observe.acknowledged?.(typeUrl, now() - sentAt),
        rejected: (typeUrl, message) => {
          this.#context.log.warn({ node: id, typeUrl, message }, "a client refused an update and keeps what it had")
          observe.rejected?.(typeUrl, id, message)
        },
        overdue: typeUrl => {
          this.#context.log.warn({ node: id, typeUrl }, "a client has not answered an update in time")
          observe.overdue?.(typeUrl, id)
        },
      },
    })
    return undefined
  }

  /** Wakes come in bursts; one look after the burst sees all of it. */
  #schedule(): void {
    if (this.#scheduled || this.#ended) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#guard(() => this.#pump())
    })
  }

  #pump(): undefined {
    if (this.#ended || this.#writing || this.#session === undefined) return
    const now = this.#context.now()
    const response = this.#session.next(now)
    clearTimeout(this.#deadline)
    if (response === undefined) {
      const { deadline } = this.#session
      if (deadline !== undefined) this.#deadline = setTimeout(() => this.#schedule(), Math.max(1, deadline - now))
      return
    }
    this.#writing = true
    this.#write = setTimeout(() => this.#connection?.socket.destroy(), this.#context.limits.writeMs)
    this.#context.observe.sent?.(response.typeUrl, {
      resources: response.resources.length,
      removed: response.removed?.length ?? 0,
      bytes: response.resources.reduce((bytes, { value }) => bytes + value.length, 0),
    })
    this.#call.write(this.#protocol.encode(response), () => {
      clearTimeout(this.#write)
      this.#writing = false
      this.#schedule()
    })
  }

  /** A fault of ours ends this stream and no other. */
  #guard(step: () => StreamFault | undefined): void {
    try {
      const fault = step()
      if (fault !== undefined) this.end(fault)
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    this.#context.log.error({ error: messageOf(error), node: this.#nodeId }, "a stream failed")
    this.end({ code: "INTERNAL", message: "the control plane failed on this stream; connect again" })
  }

  #dispose(): void {
    if (this.#ended) return
    this.#ended = true
    for (const timer of [this.#firstRequest, this.#deadline]) clearTimeout(timer)
    this.#proofEnds?.()
    this.#call.once("close", () => clearTimeout(this.#write))
    if (this.#call.destroyed) clearTimeout(this.#write)
    const subscriber = this.#subscriber
    this.#subscriber = undefined
    this.#context.closed(this)
    try {
      subscriber?.close()
    } catch (error) {
      this.#context.log.error({ error: messageOf(error), node: this.#nodeId }, "a subscriber did not close")
    }
  }
}
