// SPDX-License-Identifier: Apache-2.0
// A proxy to the API: requests and responses are forwarded unchanged, with the connection's credentials.

import type { Connection } from "./connection.js"
import { type PassedAnswer, type PassedRequest, Transport } from "./transport.js"

export interface PassingApi {
  /** Throws if there is no answer. */
  send(request: PassedRequest, signal: AbortSignal): Promise<PassedAnswer>
  close(): Promise<void>
}

const TIMEOUT_MS = 30_000

export function passingApi(connection: Connection, userAgent: string): PassingApi {
  const transport = new Transport(connection, { userAgent, timeoutMs: TIMEOUT_MS })
  return { send: (request, signal) => transport.pass(request, signal), close: () => transport.close() }
}

/** The same server, with the permissions of this token only. */
export function withToken(connection: Connection, token: string): Connection {
  return {
    ...connection,
    credentials: async () => {
      const { ca } = await connection.credentials()
      return { token, ...(ca === undefined ? {} : { ca }) }
    },
    rejected: () => undefined,
  }
}
