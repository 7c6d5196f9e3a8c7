// SPDX-License-Identifier: Apache-2.0
// Connects to one endpoint, at the first of its addresses that can be reached. The connection is returned only when the
// first byte of a request may be sent: with mTLS, after the server has proven an expected identity.

import { connect as connectTcp, isIP, type Socket } from "node:net"
import { type ConnectionOptions, connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls"
import { parseCertificate } from "@merlon/identity"
import { TLS_INTERNAL } from "@merlon/wire/tls"
import type { ServiceEndpoint } from "@merlon/xds"
import { messageOf } from "@merlon/xds/runtime"
import type { CallFailureCode } from "../errors.js"
import type { Material } from "./material.js"
import { serverCertificate } from "./server-certificate.js"
import type { TransportPlan } from "./transport-plan.js"
import { verifyServer } from "./verify-server.js"

/** Nothing of a request was sent, so another endpoint may be tried. */
export class ConnectFailure extends Error {
  override readonly name = "ConnectFailure"
  readonly code = "unreachable" satisfies CallFailureCode
}

export interface ConnectOptions {
  readonly endpoint: ServiceEndpoint
  readonly plan: TransportPlan
  readonly material: Material
  /** The ALPN protocols to offer. */
  readonly alpn: readonly string[]
  /** Limit for TCP and TLS together, at all of the endpoint's addresses. */
  readonly timeoutMs: number
  readonly now?: () => number
  /** Whether either side may end its own direction and still read; false by default. */
  readonly allowHalfOpen?: boolean
}

type MutualPlan = Extract<TransportPlan, { kind: "mutual" }>

export async function connect(options: ConnectOptions): Promise<Socket> {
  const { address, otherAddresses = [] } = options.endpoint
  const addresses = [address, ...otherAddresses]
  // Each address has an equal share of the time: a silent one leaves time for the others.
  const timeoutMs = Math.ceil(options.timeoutMs / addresses.length)
  const failures: string[] = []
  for (const host of addresses) {
    try {
      return await connectTo(host, { ...options, timeoutMs })
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  throw new ConnectFailure(failures.join("; "))
}

function connectTo(host: string, options: ConnectOptions): Promise<Socket> {
  const { endpoint, plan, timeoutMs } = options
  const place = { host, port: endpoint.port, allowHalfOpen: options.allowHalfOpen ?? false }
  const where = `${isIP(host) === 6 ? `[${host}]` : host}:${endpoint.port}`
  return new Promise((resolve, reject) => {
    let socket: Socket
    try {
      socket = plan.kind === "plaintext" ? connectTcp(place) : startTls(place, options, plan)
    } catch (error) {
      reject(new Error(`cannot connect to ${where}: ${messageOf(error)}`))
      return
    }
    const fail = (reason: string) => {
      clearTimeout(timer)
      socket.destroy()
      reject(new Error(`cannot connect to ${where}: ${reason}`))
    }
    const timer = setTimeout(() => fail(`no connection within ${timeoutMs} ms`), timeoutMs)
    const onError = (error: Error) => fail(messageOf(error))
    const onClose = () => fail("the server closed the connection")
    socket.once("error", onError)
    socket.once("close", onClose)
    socket.once(plan.kind === "plaintext" ? "connect" : "secureConnect", () => {
      const error = plan.kind === "plaintext" ? undefined : serverError(socket as TLSSocket, plan, options) // as started above
      if (error !== undefined) return fail(error)
      clearTimeout(timer)
      socket.off("error", onError)
      socket.off("close", onClose)
      socket.setNoDelay(true)
      resolve(socket)
    })
  })
}

export function startTls(
  place: Pick<ConnectionOptions, "host" | "port" | "lookup" | "socket"> & { readonly allowHalfOpen: boolean },
  { material, alpn, now = Date.now }: ConnectOptions,
  plan: MutualPlan,
): TLSSocket {
  const { credentials, trust } = material
  // INVARIANT: an empty bundle never reaches node:tls, which would then trust every public authority.
  if (!trust.bundle.includes("-----BEGIN CERTIFICATE-----")) throw new Error("there is no trusted root CA")
  if (credentials === undefined) throw new Error("this workload has no certificate")
  return connectTls({
    ...place,
    // RFC 6066 section 3: an address is not a valid server name.
    servername: isIP(plan.sni) === 0 ? plan.sni : "",
    ALPNProtocols: [...alpn],
    cert: credentials.certificateChain,
    key: credentials.privateKey,
    ca: trust.bundle,
    ...TLS_INTERNAL,
    rejectUnauthorized: true,
    // Replaces only the comparison of host names, because mesh certificates contain identities; the chain is still
    // verified.
    checkServerIdentity: (_, { raw }: PeerCertificate) => {
      const certificate = parseCertificate(raw)
      if (certificate === undefined) return new Error("the server's certificate cannot be read")
      const error = verifyServer(certificate, plan.identities, trust, now())
      return error === undefined ? undefined : new Error(error)
    },
  })
}

/** Checks the finished connection once more, so that an unproven server gets no request in any case. */
export function serverError(
  socket: TLSSocket,
  plan: MutualPlan,
  { material, now = Date.now }: ConnectOptions,
): string | undefined {
  const certificate = serverCertificate(socket)
  if (!socket.authorized || certificate === undefined) return "the server's certificate is not verified"
  return verifyServer(certificate, plan.identities, material.trust, now())
}
