// SPDX-License-Identifier: Apache-2.0
// Records one opaque connection, and reports it once when it ends.

import type { Socket } from "node:net"
import type { CallFailure } from "../call/call-failure.js"
import type { CallObserver, CallRecord } from "./call-record.js"

type Reached = Pick<CallRecord, "destination" | "inMesh" | "transport" | "workload">

export class ObservedConnection {
  readonly #observer: CallObserver
  readonly #client: Socket
  readonly #startedAt = performance.now()
  readonly #readBefore: number
  readonly #writtenBefore: number

  constructor(observer: CallObserver, client: Socket) {
    this.#observer = observer
    this.#client = client
    this.#readBefore = client.bytesRead
    this.#writtenBefore = client.bytesWritten
  }

  /** `failure`: why the program could not connect to the destination, or was disconnected from it. */
  done(reached: Reached, failure?: CallFailure): void {
    const bytesReceived = this.#client.bytesRead - this.#readBefore
    const bytesSent = this.#client.bytesWritten - this.#writtenBefore
    this.#observer.done({
      ...reached,
      ...{ protocol: "tcp", requestId: undefined, method: "", host: "", path: "", status: 0 },
      ...{ bytesReceived, bytesSent, durationMs: performance.now() - this.#startedAt },
      ...{ retries: 0, failure: failure?.code, reason: failure?.message, decisionId: undefined, traceId: undefined },
    })
  }
}
