// SPDX-License-Identifier: Apache-2.0
// The stream on which a proxy reports observations and answers inquiries. A caller authenticates as on every stream,
// names its workload first, and has limits; the source decides whether to trust the reports.

import { create } from "@bufbuild/protobuf"
import { InquirySchema, type Observation as ObservationMessage } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { MalformedResource } from "../malformed-resource.js"
import { type Inquiry, type Observation, readObservation, writeInquiry } from "../observation.js"
import { observe } from "../wire/methods.js"
import { AuthenticatedStream } from "./authenticated-stream.js"
import type { GrpcCall } from "./grpc/call.js"
import type { ServerContext } from "./server-context.js"
import type { Caller, Rejection } from "./source.js"
import { exhausted, invalid, type StreamError } from "./stream-error.js"

/** Receives the observations of proxies. */
export interface ObservationSink {
  /** `ask` sends an inquiry to the proxy, as long as its stream lasts. */
  open(
    caller: Caller,
    nodeId: string,
    ask: (inquiry: Inquiry) => void,
  ): { readonly onObservation: (observation: Observation) => void; readonly closed: () => void } | Rejection
}

/** Limit on sent bytes that the client has not read. */
const MAX_UNREAD = 64 * 1024

export class ObservedStream extends AuthenticatedStream<ObservationMessage> {
  readonly #sink: ObservationSink
  #conversation: Exclude<ReturnType<ObservationSink["open"]>, Rejection> | undefined
  #nodeId = ""

  constructor(context: ServerContext, sink: ObservationSink, call: GrpcCall) {
    super(context, call, observe.requestDeserialize)
    this.#sink = sink
  }

  protected override get logFields(): object {
    return { node: this.#nodeId, stream: "observations" }
  }

  protected override receive(message: ObservationMessage, caller: Caller): StreamError | undefined {
    try {
      return this.#onObservation(message, caller)
    } catch (error) {
      if (error instanceof MalformedResource) return invalid(error.message)
      throw error
    }
  }

  #onObservation({ nodeId, content }: ObservationMessage, caller: Caller): StreamError | undefined {
    if (this.#conversation === undefined) {
      if (nodeId.length > this.context.limits.nameLength) return invalid("`node_id` is too long")
      this.#nodeId = nodeId
      const opened = this.#sink.open(caller, nodeId, inquiry => this.#ask(inquiry))
      if ("code" in opened) return opened
      this.#conversation = opened
    }
    if (content !== "") this.#conversation.onObservation(readObservation(content))
    return undefined
  }

  #ask(inquiry: Inquiry): void {
    if (this.isOver) return
    if (this.call.waiting > MAX_UNREAD) {
      this.end(exhausted("the client does not read the queries on this stream"))
      return
    }
    this.call.send([observe.responseSerialize(create(InquirySchema, { content: writeInquiry(inquiry) }))])
  }

  override writable(): void {
    // Inquiries do not wait: a client that reads nothing is cut off.
  }

  protected override onEnd(): void {
    this.#conversation?.closed()
    this.#conversation = undefined
  }
}
