// SPDX-License-Identifier: Apache-2.0
// One delta stream from opening to end: subscribes with the versions it has, applies updates and acknowledges each. It
// never throws; `ended` has the reason.

import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf"
import { NodeSchema } from "../generated/envoy/config/core/v3/base_pb.js"
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { messageOf } from "../runtime/log.js"
import type { SerialQueue } from "../runtime/serial-queue.js"
import { deltaAggregatedResources } from "../wire/methods.js"
import { MeshCallError } from "./call-error.js"
import { Channel, type ChannelOptions, REJECTIONS } from "./channel.js"
import type { Call } from "./grpc/call.js"
import type { CallEnd } from "./grpc/response-head.js"
import type { MeshClientOptions, Subscription } from "./options.js"
import { readUpdate } from "./read-update.js"

export interface StreamEnd {
  readonly why: string
  /** The control plane rejected this client. */
  readonly rejected: boolean
}

export interface DeltaStreamOptions extends ChannelOptions {
  readonly node: MeshClientOptions["node"]
  readonly subscriptions: readonly Subscription[]
  readonly queues: ReadonlyMap<string, SerialQueue>
  readonly onAnswer: () => void
}

/** A control plane sends one update per type at a time, and more only if we are slow to acknowledge. */
const WAITING_UPDATES = 64
const REASON_LENGTH = 2_048
const INVALID_ARGUMENT = 3
const LEAVING: CallEnd = { code: "UNAVAILABLE", message: "the control plane is shutting down" }

export class DeltaStream {
  readonly ended: Promise<StreamEnd>
  /** Other streams on it end with this one. */
  readonly channel: Channel
  readonly #options: DeltaStreamOptions
  /** Undefined until there is a connection. */
  #call: Call | undefined
  /** Names that the control plane was told, by type. */
  readonly #subscribed = new Map<string, ReadonlySet<string>>()
  /** Types for which a request was sent. */
  readonly #opened = new Set<string>()
  readonly #unanswered: Set<string>
  #resolve: (end: StreamEnd) => void = () => {}
  #waiting = 0
  #named = false
  #over = false
  readonly #connect: NodeJS.Timeout
  readonly #answer: NodeJS.Timeout

  /** Throws if the channel cannot be created. */
  constructor(options: DeltaStreamOptions) {
    this.#options = options
    const { limits, subscriptions } = options
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
    this.#unanswered = new Set(subscriptions.map(({ typeUrl }) => typeUrl))
    // A stream that stayed open would delay the shutdown of the control plane until it is cut off.
    this.channel = new Channel(options, () => this.#failed(LEAVING))
    this.#connect = setTimeout(() => {
      if (!this.channel.connected) this.close(`no connection within ${limits.connectMs} ms`)
    }, limits.connectMs)
    this.#answer = setTimeout(() => this.close("the control plane does not respond"), limits.answerMs)
    void this.channel.ready.then(() => this.#begin()).catch((error: unknown) => this.close(reasonOf(error)))
  }

  resubscribe(typeUrl: string): void {
    const subscription = this.#options.subscriptions.find(each => each.typeUrl === typeUrl)
    const before = this.#subscribed.get(typeUrl)
    if (subscription === undefined || before === undefined) return
    if (before.size === 0 && !this.#opened.has(typeUrl)) {
      void this.#subscribe(subscription)
      return
    }
    const after = namesOf(subscription)
    const subscribe = [...after].filter(name => !before.has(name))
    const unsubscribe = [...before].filter(name => !after.has(name))
    if (subscribe.length === 0 && unsubscribe.length === 0) return
    this.#subscribed.set(typeUrl, after)
    this.#send({ typeUrl, resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe })
  }

  close(why: string, rejected = false): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#connect)
    clearTimeout(this.#answer)
    this.#call?.cancel()
    this.channel.close()
    this.#resolve({ why, rejected })
  }

  #begin(): void {
    if (this.#over) return
    this.#call = this.channel.call(deltaAggregatedResources.path, {
      message: bytes => this.#read(bytes),
      ended: end => {
        if (end.code === "OK") this.close("the control plane ended the stream")
        else this.#failed(end)
      },
    })
    for (const subscription of this.#options.subscriptions) void this.#subscribe(subscription)
  }

  #read(bytes: Buffer): void {
    try {
      this.#receive(deltaAggregatedResources.responseDeserialize(bytes))
    } catch (error) {
      this.#failed({ code: "INTERNAL", message: `an update cannot be read: ${messageOf(error)}` })
    }
  }

  async #subscribe(subscription: Subscription): Promise<void> {
    const { typeUrl } = subscription
    await this.#options.queues.get(typeUrl)?.idle()
    if (this.#over) return
    try {
      const names = namesOf(subscription)
      const held = [...subscription.known()].filter(([name]) => names.has("*") || names.has(name))
      this.#subscribed.set(typeUrl, names)
      // A first request without names would subscribe to everything.
      if (names.size === 0) {
        this.#answered(typeUrl)
        return
      }
      this.#opened.add(typeUrl)
      this.#send({
        typeUrl,
        resourceNamesSubscribe: [...names],
        initialResourceVersions: Object.fromEntries(held),
      })
    } catch (error) {
      this.close(messageOf(error))
    }
  }

  #receive(response: DeltaDiscoveryResponse): void {
    const { typeUrl } = response
    const { subscriptions, queues, onAnswer } = this.#options
    const subscription = subscriptions.find(each => each.typeUrl === typeUrl)
    const queue = queues.get(typeUrl)
    if (this.#over || subscription === undefined || queue === undefined) return
    this.#answered(typeUrl)
    onAnswer()
    this.#waiting += 1
    if (this.#waiting > WAITING_UPDATES) {
      this.close("updates arrive faster than they can be applied")
      return
    }
    void queue
      .add(async () => this.#apply(subscription, response))
      .catch((error: unknown) => this.close(messageOf(error)))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  #answered(typeUrl: string): void {
    this.#unanswered.delete(typeUrl)
    if (this.#unanswered.size === 0) clearTimeout(this.#answer)
  }

  async #apply(subscription: Subscription, response: DeltaDiscoveryResponse): Promise<void> {
    // An update from a dead stream is not worth applying: the next stream brings the newest one.
    if (this.#over) return
    const { typeUrl, nonce } = response
    try {
      await subscription.apply(readUpdate(response))
      this.#send({ typeUrl, responseNonce: nonce })
    } catch (error) {
      const message = messageOf(error).slice(0, REASON_LENGTH)
      this.#options.log.warn(
        { typeUrl, error: message },
        "an update was rejected; the previous configuration stays in force",
      )
      this.#send({ typeUrl, responseNonce: nonce, errorDetail: { code: INVALID_ARGUMENT, message } })
    }
  }

  #send(request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void {
    if (this.#over) return
    try {
      const message = create(DeltaDiscoveryRequestSchema, request)
      // Only the first request of a stream has to contain the node.
      if (!this.#named) {
        const { id, metadata } = this.#options.node
        message.node = create(NodeSchema, { id, metadata: asJson(metadata()) })
      }
      this.#named = true
      this.#call?.send(deltaAggregatedResources.requestSerialize(message))
    } catch (error) {
      this.close(messageOf(error))
    }
  }

  #failed({ code, message }: CallEnd): void {
    // If a stale session may have caused the rejection, the client retries soon, without the session.
    this.close(`${code}: ${message}`, REJECTIONS.has(code) && !this.channel.resumed)
  }
}

function namesOf({ names }: Subscription): ReadonlySet<string> {
  const asked = names()
  return new Set(asked === "*" ? ["*"] : asked)
}

function reasonOf(error: unknown): string {
  return error instanceof MeshCallError ? `${error.code}: ${error.message}` : messageOf(error)
}

/** Converted through JSON, so that any metadata can be written as a protobuf Struct. */
function asJson(metadata: { readonly [key: string]: unknown }): JsonObject {
  return JSON.parse(JSON.stringify(metadata))
}
