// SPDX-License-Identifier: Apache-2.0
// Opens a TCP connection to a server with several addresses: if the first refuses the connection, the others are tried
// within the same attempt.

import { connect, isIP, type Socket, type TcpNetConnectOpts } from "node:net"

export interface TcpAddress {
  readonly host: string
  readonly port: number
  /** IP addresses that are tried in this order if `host`, also an IP address, refuses the connection. */
  readonly fallback?: readonly string[]
}

type Options = Omit<TcpNetConnectOpts, "host" | "port" | "lookup">
type Place = Pick<TcpNetConnectOpts, "host" | "port" | "lookup" | "autoSelectFamily" | "autoSelectFamilyAttemptTimeout">

/** `attemptMs`: how long to wait for an address that neither accepts nor refuses. */
export function connectTcp(address: TcpAddress, attemptMs: number, options: Options): Socket {
  return connect({ ...options, ...placeOf(address, attemptMs) })
}

/**
 * The same options for `tls.connect`. TLS must not wrap a socket that `connectTcp` is connecting: for the next address
 * Node replaces the socket's handle, and TLS on the old handle crashes the process.
 */
export function placeOf({ host, port, fallback = [] }: TcpAddress, attemptMs: number): Place {
  if (fallback.length === 0) return { host, port }
  const addresses = [host, ...fallback].map(address => ({ address, family: isIP(address) }))
  return {
    // Not resolved: `lookup` returns the addresses.
    host: "several.invalid",
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
    lookup: (_host, _options, done) => done(null, addresses),
  }
}
