// SPDX-License-Identifier: Apache-2.0
// A TCP connection to a server that may listen on one of several addresses: where the first refuses, the others are tried
// within the same connection.

import { connect, isIP, type NetConnectOpts, type Socket } from "node:net"

export interface TcpAddress {
  readonly host: string
  readonly port: number
  /** IP addresses that are tried in this order where `host`, an IP address too, refuses. */
  readonly fallback?: readonly string[]
}

type Options = Omit<Extract<NetConnectOpts, { port: number }>, "host" | "port" | "lookup">

/** `attemptMs`: how long an address may take that neither answers nor refuses. */
export function connectTcp({ host, port, fallback = [] }: TcpAddress, attemptMs: number, options: Options): Socket {
  if (fallback.length === 0) return connect({ ...options, host, port })
  const addresses = [host, ...fallback].map(address => ({ address, family: isIP(address) }))
  return connect({
    ...options,
    // Not looked up: `lookup` answers.
    host: "several.invalid",
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
    lookup: (_host, _options, done) => done(null, addresses),
  })
}
