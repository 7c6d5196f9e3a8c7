// SPDX-License-Identifier: Apache-2.0
// One application port and the listener in front of it.

export interface ApplicationPort {
  /** Where xserver listens. */
  readonly listen: { readonly host: string; readonly port: number }
  /** The workload's own port: what policies and port-level modes name. */
  readonly port: number
  /** Where the application answers; usually loopback and the same port. */
  readonly upstream: UpstreamAddress
  /** Undeclared (`auto`): the first bytes tell. */
  readonly protocol: "http" | "tcp" | "auto"
  /** What the application speaks towards us where the port carries HTTP. */
  readonly upstreamProtocol: "http/1.1" | "h2c"
  /** Names of the Services of this workload, for SNI: a TLS connection for one of them is the mesh's. */
  readonly serviceNames: readonly string[]
  /** Protocols besides `websocket` that connections may be switched to; nothing after the switch is judged. */
  readonly upgrades?: readonly string[]
}

export interface UpstreamAddress {
  readonly host: string
  readonly port: number
  /** Where else it may answer, tried in this order where `host` refuses. */
  readonly fallback?: readonly string[]
}
