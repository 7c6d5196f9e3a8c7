// SPDX-License-Identifier: Apache-2.0
// The stream of a proxy's observations, on the same connection as its configuration: opened after the first
// configuration response, closed with the connection. Its failures never affect configuration, and a control plane
// without this stream is not asked again soon.

import { create } from "@bufbuild/protobuf"
import { ObservationSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { type Observation, type ObservationSource, readInquiry, writeObservation } from "../observation.js"
import { type Log, messageOf } from "../runtime/log.js"
import { observe } from "../wire/methods.js"
import type { Channel } from "./channel.js"
import type { Call } from "./grpc/call.js"

export interface ObservationStreamOptions {
  readonly channel: Channel
  readonly nodeId: string
  readonly source: ObservationSource
  readonly log: Log
  /** The stream ended while the connection is still open; `again` says whether to reopen it. */
  readonly onEnd: (again: boolean) => void
}

export class ObservationStream {
  readonly #options: ObservationStreamOptions
  readonly #call: Call
  readonly #conversation: ReturnType<ObservationSource["open"]>
  #over = false

  constructor(options: ObservationStreamOptions) {
    this.#options = options
    const { channel, nodeId, source, log } = options
    this.#call = channel.call(observe.path, {
      message: bytes => this.#onInquiry(bytes),
      ended: ({ code, message }) => {
        const isError = code !== "OK" && code !== "CANCELLED"
        if (!this.#over && isError) log.warn({ why: message }, "observations cannot be reported now")
        this.#end(code !== "UNIMPLEMENTED")
      },
    })
    this.#call.send(observe.requestSerialize(create(ObservationSchema, { nodeId })))
    this.#conversation = source.open(observation => this.#send(observation))
  }

  close(): void {
    if (this.#over) return
    this.#over = true
    this.#call.cancel()
    this.#conversation.closed()
  }

  #send(observation: Observation): boolean {
    if (this.#over) return false
    const message = create(ObservationSchema, { content: writeObservation(observation) })
    return this.#call.send(observe.requestSerialize(message))
  }

  #onInquiry(bytes: Buffer): void {
    if (this.#over) return
    try {
      const inquiry = readInquiry(observe.responseDeserialize(bytes).content)
      if (inquiry !== undefined) this.#conversation.onInquiry(inquiry)
    } catch (error) {
      this.#options.log.warn({ error: messageOf(error) }, "a query of the control plane cannot be read")
      this.#end(true)
    }
  }

  #end(again: boolean): void {
    if (this.#over) return
    this.close()
    this.#options.onEnd(again)
  }
}
