// SPDX-License-Identifier: Apache-2.0
// Classifies a connection by its first bytes, the port's mode and its declared protocol: one pure function that
// implements the table of docs/semantics.md, "Peer modes". It starts from the beginning whenever more bytes arrive, so
// it always uses the current mode.

import type { EffectiveMode } from "@merlon/policy/selection"
import { detectHttp, isPreface } from "@merlon/wire/http"
import { type ClientHelloResult, parseClientHello } from "./client-hello.js"

export type Protocol = "http1" | "http2" | "tcp"

export type Verdict =
  /** Not enough bytes to decide; call again once there are `bytes` bytes in total. */
  | { readonly kind: "more"; readonly bytes: number }
  /** A TLS handshake with the proxy, with a client certificate. */
  | { readonly kind: "terminate"; readonly offersTls13: boolean }
  /** `sni` is set for TLS that only the application can read. */
  | { readonly kind: "plaintext"; readonly protocol: Protocol; readonly sni?: string | undefined }
  | { readonly kind: "close"; readonly failure: "not-tls" | "tls-not-accepted" | "protocol" }

export interface PortFacts {
  readonly mode: EffectiveMode
  readonly protocol: "http" | "tcp" | "auto"
  /** ALPN protocols that mark a connection as the mesh's own. */
  readonly meshAlpn: readonly string[]
  /** Lower-case. */
  readonly serviceNames: ReadonlySet<string>
}

const HANDSHAKE_RECORD = 22
const TCP: Verdict = { kind: "plaintext", protocol: "tcp" }
const NOT_TLS: Verdict = { kind: "close", failure: "not-tls" }

/** `ended`: the client sends nothing more. */
export function judgeFirstBytes(bytes: Buffer, facts: PortFacts, ended = false): Verdict {
  const { mode, protocol } = facts
  // No further bytes could change the result, so a server that speaks first need not wait.
  if (protocol === "tcp" && mode === "DISABLE") return TCP
  if (bytes.length === 0) return { kind: "more", bytes: 1 }
  if (bytes[0] === HANDSHAKE_RECORD) return judgeTls(bytes, facts)
  // Fail closed: a STRICT port accepts nothing but TLS, and sends no reason.
  if (mode === "STRICT") return NOT_TLS
  if (protocol === "tcp") return TCP
  const looks = protocol === "http" ? isPreface(bytes) : detectHttp(bytes, ended)
  if (looks === "more") return { kind: "more", bytes: bytes.length + 1 }
  return { kind: "plaintext", protocol: looks }
}

/** The protocol of a connection that sent nothing in time; undefined if it must be closed. */
export function judgeSilence({ mode, protocol }: PortFacts): Protocol | undefined {
  // A STRICT port requires a handshake, and an HTTP port a request: a client that sends nothing is disconnected.
  if (mode === "STRICT" || protocol === "http") return undefined
  // The server may speak first, which no HTTP server does.
  return "tcp"
}

/** Inside a terminated connection the mode no longer matters, only the bytes do. */
export function judgeDecrypted(bytes: Buffer, protocol: "http" | "auto", ended = false): Protocol | "more" {
  if (bytes.length === 0) return "more"
  return protocol === "http" ? isPreface(bytes) : detectHttp(bytes, ended)
}

function judgeTls(bytes: Buffer, { mode, protocol, meshAlpn, serviceNames }: PortFacts): Verdict {
  if (mode === "DISABLE") {
    // On a port declared `http` under DISABLE, TLS would only fail in the parser; elsewhere it belongs to the
    // application.
    return protocol === "http" ? { kind: "close", failure: "tls-not-accepted" } : TCP
  }
  const hello = parseClientHello(bytes)
  if (hello.kind === "more") return { kind: "more", bytes: hello.bytes }
  const terminate: Verdict = { kind: "terminate", offersTls13: hello.kind === "hello" && hello.offersTls13 }
  // Under STRICT no TLS belongs to the application, and on an HTTP port only the proxy could read it.
  if (mode === "STRICT" || protocol === "http") return terminate
  switch (hello.kind) {
    case "hello":
      if (isMeshes(hello, meshAlpn, serviceNames)) return terminate
      return { kind: "plaintext", protocol: "tcp", sni: hello.serverName }
    case "not-a-hello":
      return TCP
    case "too-long":
      // Fail closed: a client that hides the extensions behind so much padding is trying to mislead a parser.
      return { kind: "close", failure: "protocol" }
  }
}

function isMeshes(
  { alpn, serverName }: Extract<ClientHelloResult, { kind: "hello" }>,
  meshAlpn: readonly string[],
  serviceNames: ReadonlySet<string>,
): boolean {
  if (alpn.some(name => meshAlpn.includes(name))) return true
  return serverName !== undefined && serviceNames.has(serverName.toLowerCase().replace(/\.$/, ""))
}
