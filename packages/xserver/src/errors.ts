// SPDX-License-Identifier: Apache-2.0
// What the gate cannot use and what it refuses on its own: one closed table of codes, each with what happened and what to
// do. What policies and tokens refuse has its own words: the rule, or the fault of the token.

export const XSERVER_FAULTS = {
  "no-root": {
    means: "the trust bundle holds no certificate, and what was in force stays",
    next: "give the root certificates of the mesh as PEM",
  },
  "no-certificate": {
    means: "the certificate chain holds no certificate, and what was in force stays",
    next: "give the workload's certificate as PEM, itself first",
  },
  "no-identity": {
    means: "the certificate names no single SPIFFE identity, and what was in force stays",
    next: "use one that the mesh signed",
  },
  "wrong-key": {
    means: "the private key is not the certificate's, and what was in force stays",
    next: "give the key that belongs to the certificate",
  },
  "bad-material": {
    means: "a certificate or key cannot be read or used, and what was in force stays",
    next: "the message says why; give PEM",
  },
  unreadable: {
    means: "the message could not be read",
    next: "look at what the caller sends: it is not HTTP, or malformed",
  },
  transport: {
    means: "the caller came with TLS or without, and the port's mode is the other",
    next: "give the caller a sidecar, or change the mode by a PeerAuthentication",
  },
  revoked: {
    means: "the caller's certificate was revoked, or its root is trusted no more",
    next: "give the caller a new one, or take it off the list of revocations",
  },
  path: {
    means: "the request target has no canonical form",
    next: "send a path without escapes that decode to control characters, and without a raw `#`",
  },
  internal: {
    means: "judging failed",
    next: "the log has the cause; refused, as everything that cannot be judged",
  },
  upgrade: {
    means: "the port does not allow this upgrade",
    next: "name the protocol in its `upgrades`",
  },
  undecided: {
    means: "the first bytes did not tell in time what the connection carries",
    next: "declare the port's protocol",
  },
  "http-needed": {
    means: "a policy of this port judges HTTP, and the connection carries something else",
    next: "declare the port `tcp`",
  },
  "hidden-request": {
    means: "what an HTTP server could read as a request came in a connection that is not HTTP",
    next: "declare the port's protocol, so that it needs not be guessed",
  },
  "http-answer": {
    means: "the application answered in HTTP to a connection that is not HTTP",
    next: "declare the port `http`",
  },
} as const satisfies Record<string, { readonly means: string; readonly next: string }>

export type XserverErrorCode = keyof typeof XSERVER_FAULTS
export type MaterialCode = Extract<XserverErrorCode, `no-${string}`> | "wrong-key" | "bad-material"
