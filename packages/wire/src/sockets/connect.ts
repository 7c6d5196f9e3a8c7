// SPDX-License-Identifier: Apache-2.0
// A TCP connection to a server with several addresses: if the first rejects the connection, the others are tried within
// the same attempt.

import { connect, isIP, type Socket, type TcpNetConnectOpts } from "node:net"

export interface TcpAddress {
  readonly host: string
  readonly port: number
  /** IP addresses that are tried in this order where `host`, an IP address too, refuses. */
  readonly fallback?: readonly string[]
}

type Options = Omit<TcpNetConnectOpts, "host" | "port" | "lookup">
type Place = Pick<TcpNetConnectOpts, "host" | "port" | "lookup" | "autoSelectFamily" | "autoSelectFamilyAttemptTimeout">

/** `attemptMs`: how long an address may take that neither answers nor refuses. */
export function connectTcp(address: TcpAddress, attemptMs: number, options: Options): Socket {
  return connect({ ...options, ...placeOf(address, attemptMs) })
}

/**
 * For `tls.connect`, in place of a socket that `connectTcp` is connecting: with the next address Node gives the socket another
 * handle, and TLS around the old one ends the process.
 */
export function placeOf({ host, port, fallback = [] }: TcpAddress, attemptMs: number): Place {
  if (fallback.length === 0) return { host, port }
  const addresses = [host, ...fallback].map(address => ({ address, family: isIP(address) }))
  return {
    // Not looked up: `lookup` answers.
    host: "several.invalid",
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
    lookup: (_host, _options, done) => done(null, addresses),
  }
}
