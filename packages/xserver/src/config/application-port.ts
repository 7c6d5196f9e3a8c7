// SPDX-License-Identifier: Apache-2.0
// One application port and the listener in front of it.

export interface ApplicationPort {
  /** Where xserver listens. */
  readonly listen: { readonly host: string; readonly port: number }
  /** The application port, which policies and port-level modes name. */
  readonly port: number
  /** Where the application listens; usually loopback and the same port. */
  readonly upstream: UpstreamAddress
  /** `auto`: undeclared, so the first bytes decide. */
  readonly protocol: "http" | "tcp" | "auto"
  /** The HTTP version that the proxy uses towards the application. */
  readonly upstreamProtocol: "http/1.1" | "h2c"
  /** Names of the Services of this workload: a TLS connection with one of them as SNI belongs to the mesh. */
  readonly serviceNames: readonly string[]
  /** Protocols besides `websocket` that connections may be upgraded to; nothing after the upgrade is judged. */
  readonly upgrades?: readonly string[]
}

export interface UpstreamAddress {
  readonly host: string
  readonly port: number
  /** Further addresses of the application, tried in this order if `host` refuses the connection. */
  readonly fallback?: readonly string[]
}
