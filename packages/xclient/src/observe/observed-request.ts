// SPDX-License-Identifier: Apache-2.0
// Records one request while it is in flight, and reports it once when it ends.

import { type RequestHead, type ResponseHead, requestId } from "@merlon/wire/http"
import type { CallTransport, ServiceEndpoint } from "@merlon/xds"
import type { CallFailure } from "../call/call-failure.js"
import type { CallObserver, CallTrace } from "./call-record.js"

/**
 * The format of a proxy's decision ids. Anything else is not recorded, because the destination chooses what it sends.
 */
const DECISION_ID = /^[0-9a-f]{20}$/

/** The destination of a connection's requests, as it is reported. */
export interface ObservedDestination {
  readonly destination: string
  readonly inMesh: boolean
  /** `x-<mesh>-decision`, in lower case. */
  readonly decisionHeader: string
}

export class ObservedRequest {
  /** Undefined outside of the mesh, where requests are forwarded as the program wrote them; so is the trace. */
  readonly requestId: string | undefined
  readonly trace: CallTrace | undefined
  bytesReceived = 0
  bytesSent = 0
  readonly #observer: CallObserver
  readonly #to: ObservedDestination
  readonly #head: RequestHead
  readonly #startedAt = performance.now()
  #status = 0
  #decisionId: string | undefined
  #tries = 0
  #workload: string | undefined
  #transport: CallTransport = "none"
  #failure: CallFailure | undefined

  constructor(observer: CallObserver, to: ObservedDestination, head: RequestHead) {
    this.#observer = observer
    this.#to = to
    this.#head = head
    if (!to.inMesh) return
    this.trace = observer.trace(head.headers)
    this.requestId = requestId(head.headers)
  }

  sent({ workload }: Pick<ServiceEndpoint, "workload">, transport: CallTransport): void {
    this.#tries += 1
    if (this.#to.inMesh) this.#workload = workload
    this.#transport = transport
  }

  responded({ status, headers }: ResponseHead): void {
    this.#status = status
    const [id, second] = headers.get(this.#to.decisionHeader) ?? []
    if (id !== undefined && second === undefined && DECISION_ID.test(id)) this.#decisionId = id
  }

  /** The program gets the reason, unless the response has begun. */
  failed(failure: CallFailure): void {
    this.#failure = failure
  }

  answered(status: number): void {
    this.#status = status
  }

  done(): void {
    const { method, target, host = "", version } = this.#head
    const query = target.indexOf("?")
    const { destination, inMesh } = this.#to
    const record = {
      ...{ protocol: version, destination, inMesh, transport: this.#transport, workload: this.#workload },
      ...{ requestId: this.requestId, method, host, path: query < 0 ? target : target.slice(0, query) },
      ...{ status: this.#status, bytesReceived: this.bytesReceived, bytesSent: this.bytesSent },
      durationMs: performance.now() - this.#startedAt,
      retries: Math.max(0, this.#tries - 1),
      ...{ failure: this.#failure?.code, reason: this.#failure?.message },
      ...{ decisionId: this.#decisionId, traceId: this.trace?.traceId },
    }
    this.#observer.done(record)
    this.trace?.done(record)
  }
}
