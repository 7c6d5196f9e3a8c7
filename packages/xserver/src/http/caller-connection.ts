// SPDX-License-Identifier: Apache-2.0
// One HTTP connection of a caller, of either version: requests are judged one by one, and a change of policies, mode or
// trust applies to open requests. The wire package reads and writes it.

import type {
  DownstreamConnection,
  DownstreamLimits,
  DownstreamOptions,
  DownstreamUser,
  Drain,
  Exchange,
  HttpVersion,
  LocalReply,
  RequestHead,
  Responder,
} from "@merlon/wire/http"
import type { DrainReason, LiveConnection } from "../accept/connections.js"
import { newDecisionId } from "../enforcement/decision-id.js"
import type { Admission } from "../enforcement/gate.js"
import type { Judged } from "../enforcement/verdict.js"
import { NO_REQUEST } from "../observe/meters.js"
import type { Caller, HttpServices } from "./caller.js"

/** A request of a caller, which a change of policies, mode or trust can end. */
export interface CallerExchange extends Exchange {
  /** Judges the request again by the current policies and mode. */
  judgeAgain(): void
  endByChange(admission: Admission<Judged>): void
}

/** What happens to the requests of a port: they are forwarded, or they are questions that are answered here. */
export type NewExchange = (caller: Caller, responder: Responder, head: RequestHead) => CallerExchange

/**
 * In a Pod that terminates, the application still serves. Under a new mode, a tunnel must not outlive the mode that
 * allowed it.
 */
const DRAINS: { readonly [reason in DrainReason]: Drain } = {
  termination: "gradually",
  shutdown: "now",
  mode: "tunnels-too",
}

export class CallerConnection implements DownstreamUser<CallerExchange>, LiveConnection {
  readonly protocol = "http"
  readonly #caller: Caller
  readonly #version: HttpVersion
  readonly #newExchange: NewExchange
  readonly #downstream: DownstreamConnection<CallerExchange>
  readonly #leave: () => void

  constructor(
    caller: Caller,
    version: HttpVersion,
    newExchange: NewExchange,
    open: (user: DownstreamUser<CallerExchange>) => DownstreamConnection<CallerExchange>,
  ) {
    this.#caller = caller
    this.#newExchange = newExchange
    this.#version = version
    this.#downstream = open(this)
    this.#leave = caller.services.connections.add(this)
  }

  start(): void {
    this.#downstream.start(this.#caller.accepted.head)
  }

  // Called through `LiveConnection`.

  get port(): number {
    return this.#caller.port
  }

  get plaintext(): boolean {
    return this.#caller.plaintext
  }

  get peer(): Caller["peer"] {
    return this.#caller.peer
  }

  get serial(): string | undefined {
    return this.#caller.serial
  }

  get chain(): Caller["chain"] {
    return this.#caller.chain
  }

  drain(reason: DrainReason): void {
    this.#downstream.drain(DRAINS[reason])
  }

  judgeAgain(): void {
    for (const exchange of this.#downstream.exchanges()) exchange.judgeAgain()
  }

  revoke(): void {
    const { gate, meters } = this.#caller.services
    const admission = gate.denyRevoked()
    const exchanges = this.#downstream.exchanges()
    if (exchanges.length === 0) meters.endedByChange(this.#version, admission.judgement.stage)
    for (const exchange of exchanges) exchange.endByChange(admission)
    this.destroy()
  }

  destroy(): void {
    this.#downstream.destroy()
  }

  // Called by the protocol engine.

  exchange(head: RequestHead, responder: Responder): CallerExchange {
    return this.#newExchange(this.#caller, responder, head)
  }

  unreadable(version: HttpVersion, status: number, body: string): LocalReply {
    return unreadable(this.#caller, version, status, body)
  }

  get draining(): boolean {
    return this.#caller.services.connections.draining
  }

  limitHit(limit: keyof DownstreamLimits): void {
    this.#caller.services.meters.limitHit(limit)
  }

  evicted(): void {
    this.#caller.services.meters.limitHit("unjudgedBytes")
  }

  closed(): void {
    this.#leave()
  }
}

/** Options that all connections of a port share. */
export function downstreamOptions({ limits, deadlines, connections }: HttpServices): DownstreamOptions {
  return { limits, deadlines, unread: connections.unjudged }
}

/** Records a request that could not be parsed, and returns the response with the id of that record. */
function unreadable(caller: Caller, version: HttpVersion, status: number, body: string): LocalReply {
  const { services, accepted } = caller
  const decisionId = newDecisionId()
  services.meters.requestDone({
    ...NO_REQUEST,
    protocol: version,
    judgement: undefined,
    decisionId,
    status,
    peer: accepted.connection.peer?.uri,
    source: accepted.connection.sourceIp.text,
    port: accepted.port.port,
  })
  return { status, body, fields: caller.decisionField(decisionId) }
}
