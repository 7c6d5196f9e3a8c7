// SPDX-License-Identifier: Apache-2.0
// What all requests of a caller's connection share, computed once: the headers that describe it to the application, the
// values of reserved names for rules, and the services of the process.

import type { Connection } from "@merlon/policy/authorization"
import type { Deadlines, FieldPairs, LocalReply } from "@merlon/wire/http"
import type { Accepted } from "../accept/accepted.js"
import type { Connections } from "../accept/connections.js"
import { type PeerChain, peerChain } from "../accept/trusted-chain.js"
import { callerKey } from "../enforcement/caller-key.js"
import type { Admission, Gate } from "../enforcement/gate.js"
import type { Judged } from "../enforcement/verdict.js"
import type { Limits } from "../limits.js"
import type { Meters, RequestRecord } from "../observe/meters.js"
import type { Providers } from "../providers/providers.js"
import type { Tracer } from "../trace/tracer.js"
import { connectionHeaders } from "./forwarded-headers.js"
import type { ForwardedConnection } from "./forwarded-request.js"

/** Services that the connections of one port share. */
export interface HttpServices {
  readonly gate: Gate
  readonly meters: Meters
  readonly limits: Limits
  readonly connections: Connections
  /** One for the whole process; the connection pools of the application use it too. */
  readonly deadlines: Deadlines
  /** Providers of CUSTOM policies. If absent, requests that one of them could deny are denied. */
  readonly providers?: Providers | undefined
  /** If no collector is configured, trace headers are not read and pass unchanged. */
  readonly tracer?: Tracer<RequestRecord> | undefined
}

export class Caller {
  readonly services: HttpServices
  readonly accepted: Accepted
  readonly forwarded: ForwardedConnection
  readonly connection: Connection

  constructor(services: HttpServices, accepted: Accepted) {
    this.services = services
    this.accepted = accepted
    const fields = connectionHeaders(accepted)
    const address = accepted.connection.sourceIp.text
    this.forwarded = { fields, address, caller: callerKey(accepted.connection) }
    // A rule reads the proxy's own headers with the values that the application will receive.
    const clientCertificate = fields.find(([name]) => name === "x-forwarded-client-cert")?.[1]
    this.connection = { ...accepted.connection, clientCertificate }
  }

  get port(): number {
    return this.accepted.port.port
  }

  get plaintext(): boolean {
    return this.accepted.certificate === undefined
  }

  get peer(): Accepted["connection"]["peer"] {
    return this.accepted.connection.peer
  }

  get serial(): string | undefined {
    return this.accepted.certificate?.serial
  }

  get chain(): PeerChain | undefined {
    return peerChain(this.accepted.socket, this.accepted.certificate?.issuer)
  }

  /** The header with the id under which operators find the reason of a rejection. */
  decisionField(id: string | undefined): FieldPairs {
    return id === undefined ? [] : [[this.services.gate.program.mesh.names.decisionHeader, id]]
  }

  /** The response to the caller; undefined if it gets none. */
  rejection({ judgement, decisionId }: Admission<Judged>): LocalReply | undefined {
    if (!("reply" in judgement) || judgement.reply === undefined) return undefined
    const { status, body, contentType, challenge, headers = [] } = judgement.reply
    const named = [...headers, ...this.decisionField(decisionId)]
    const fields = challenge === undefined ? named : [...named, ["www-authenticate", challenge] as const]
    return { status, body, ...(contentType !== undefined && { contentType }), fields }
  }
}
