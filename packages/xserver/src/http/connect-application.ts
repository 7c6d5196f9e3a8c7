// SPDX-License-Identifier: Apache-2.0
// A connection to the application. Most listen on every address or on loopback, some on the Pod's own address alone; where
// the first address refuses, the others are tried within the same connection. Inside of a Pod all of them lead over the
// loopback interface, which capture leaves alone.

import { connect, isIP, type NetConnectOpts, type Socket } from "node:net"
import type { UpstreamAddress } from "../config/application-port.js"

type Options = Omit<Extract<NetConnectOpts, { port: number }>, "host" | "port" | "lookup">

/** `attemptMs`: how long an address may take that neither answers nor refuses. */
export function connectApplication(
  { host, port, fallback = [] }: UpstreamAddress,
  attemptMs: number,
  options: Options,
): Socket {
  if (fallback.length === 0) return connect({ ...options, host, port })
  const addresses = [host, ...fallback].map(address => ({ address, family: isIP(address) }))
  return connect({
    ...options,
    // Not to be looked up: `lookup` answers.
    host: "application.invalid",
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
    lookup: (_host, _options, done) => done(null, addresses),
  })
}
