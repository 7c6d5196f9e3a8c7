// SPDX-License-Identifier: Apache-2.0
// A connection to the control plane with the current trust bundle and credentials. Channels are not reused: each stream
// and call opens its own, so that a rotated root or certificate takes effect with the next one. Nothing is sent, least
// of all the token, before the control plane has proven its identity.

import { isIP, type TcpSocketConnectOpts } from "node:net"
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from "node:tls"
import { TLS_INTERNAL } from "@merlon/wire/tls"
import { type Log, messageOf } from "../runtime/log.js"
import type { Method } from "../wire/methods.js"
import { MeshCallError } from "./call-error.js"
import { readAddress } from "./grpc/address.js"
import { Call, type CallUser } from "./grpc/call.js"
import { GrpcConnection } from "./grpc/connection.js"
import type { LastSession, SessionTerms } from "./last-session.js"
import type { ClientLimits, Proof } from "./options.js"

export interface ChannelOptions {
  readonly address: string
  readonly serverName: string
  readonly trustBundle: () => string
  readonly proof: () => Proof
  readonly limits: ClientLimits
  readonly log: Log
  readonly session: LastSession
}

/** If a name has several addresses: how long to try each before the next. */
const NEXT_ADDRESS_MS = 1_000
/** Codes with which the control plane rejects this client. */
export const REJECTIONS: ReadonlySet<string> = new Set(["UNAUTHENTICATED", "PERMISSION_DENIED"])
const TOKEN = /^[\x21-\x7e]+$/

export class Channel {
  /** Resolves when the control plane has proven its identity. Rejects with a MeshCallError if the connection fails. */
  readonly ready: Promise<void>
  readonly #socket: TLSSocket
  readonly #session: LastSession
  #connection: GrpcConnection | undefined

  /**
   * Throws if the address, bundle or credentials cannot be used. `leaving`: the control plane asks us to use another
   * connection.
   */
  constructor(options: ChannelOptions, leaving: () => void = () => undefined) {
    const { address, serverName, limits, session } = options
    this.#session = session
    const proof = options.proof()
    const token = readToken(proof)
    const { context, terms } = securityOf(options, proof)
    const offered = session.get(terms, Date.now())
    const socket = connect(connectionOptions(terms, context, offered?.ticket))
    socket.setNoDelay(true)
    this.#socket = socket
    this.ready = new Promise((resolve, reject) => {
      const failed = (why: string) => reject(new MeshCallError("UNAVAILABLE", `no connection to ${address}: ${why}`))
      socket.once("error", error => {
        // If the TLS session may have caused the error, the next connection does not offer it. A closed port is not a
        // TLS error.
        const isTls = "code" in error && String(error.code).startsWith("ERR_")
        if (isTls && this.#connection === undefined) session.forget()
        failed(reasonOf(error))
      })
      socket.once("close", () => failed("it was closed before the control plane was verified"))
      socket.once("secureConnect", () => {
        // INVARIANT: `rejectUnauthorized` has already checked this. Fails closed if that ever changes.
        if (!socket.authorized) socket.destroy(new Error("the control plane is not verified"))
        else if (socket.alpnProtocol !== "h2") socket.destroy(new Error("the server does not support HTTP/2"))
        else {
          this.#connection = new GrpcConnection({ socket, authority: serverName, token, limits, leaving })
          resolve()
        }
      })
    })
    let endsAt = 0
    // Only once: Node removes a certificate from the chain each time it is read, and a resumed session has none.
    socket.once("secureConnect", () => {
      endsAt = socket.isSessionReused() ? (offered?.endsAt ?? 0) : endOf(socket)
    })
    socket.on("session", ticket => session.keep(terms, { ticket, endsAt }))
    // Also if no caller waits for it anymore.
    this.ready.catch(() => undefined)
  }

  /** Whether the handshake resumed an earlier session. A rejection may then be due to that session. */
  get resumed(): boolean {
    return this.#connection !== undefined && this.#socket.isSessionReused()
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Only after `ready`. Throws a MeshCallError if the call cannot be made. */
  call(path: string, user: CallUser, withinMs?: number): Call {
    const call = this.#connection?.call(path, this.#watched(user), withinMs)
    if (call instanceof Call) return call
    throw MeshCallError.of(call?.code, call?.message ?? "not connected")
  }

  /**
   * After a rejection the next connection does a full handshake, so that a resumed session does not hide the current
   * credentials.
   */
  #watched(user: CallUser): CallUser {
    return {
      message: bytes => user.message(bytes),
      ended: end => {
        if (REJECTIONS.has(end.code)) this.#session.forget()
        user.ended(end)
      },
    }
  }

  close(): void {
    if (this.#connection === undefined) this.#socket.destroy()
    else this.#connection.close()
  }
}

function connectionOptions(
  { address, serverName }: SessionTerms,
  secureContext: SecureContext,
  session: Buffer | undefined,
): ConnectionOptions & TcpSocketConnectOpts {
  return {
    ...readAddress(address),
    secureContext,
    ...(session === undefined ? {} : { session }),
    // Regardless of environment variables.
    rejectUnauthorized: true,
    // RFC 6066 section 3: SNI must not contain an IP address.
    servername: isIP(serverName) === 0 ? serverName : "",
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    ALPNProtocols: ["h2"],
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  }
}

/** When the control plane's certificate expires; 0 if it presents none. */
function endOf(socket: TLSSocket): number {
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? 0 : Date.parse(certificate.validTo)
}

function readToken({ token = "" }: Proof): string | undefined {
  const trimmed = token.trim()
  if (trimmed === "") return undefined
  if (!TOKEN.test(trimmed)) throw new Error("the token contains invalid characters")
  return trimmed
}

function securityOf(
  { address, serverName, trustBundle, log, session }: ChannelOptions,
  { token, certificate }: Proof,
): { readonly context: SecureContext; readonly terms: SessionTerms } {
  const bundle = trustBundle()
  // Fail closed: without a trust bundle, Node would trust public roots.
  if (bundle.trim() === "") throw new Error("there is no trust bundle to verify the control plane with")
  const bare = { address, serverName, trustBundle: bundle, certificateChain: "" }
  const bareContext = () => session.context(bare, () => secured(bundle))
  if (certificate === undefined) return { context: bareContext(), terms: bare }
  const { chain, privateKey } = certificate
  const terms = { ...bare, certificateChain: chain }
  try {
    return { context: session.context(terms, () => secured(bundle, { key: privateKey, cert: chain })), terms }
  } catch (error) {
    if (token === undefined) throw error
    log.warn({ error: messageOf(error) }, "the certificate cannot be used; authenticating with the token alone")
    return { context: bareContext(), terms: bare }
  }
}

function secured(ca: string, own: { readonly key?: string; readonly cert?: string } = {}): SecureContext {
  return createSecureContext({ ...TLS_INTERNAL, ...own, ca })
}

/** If several addresses were tried, each has its own reason. */
function reasonOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join("; ") : error.message
}

export async function callOnce<Request, Response>(
  options: ChannelOptions,
  method: Method<Request, Response>,
  request: Request,
): Promise<Response> {
  const { callMs } = options.limits
  const channel = new Channel(options)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new MeshCallError("DEADLINE_EXCEEDED", `no response within ${callMs} ms`)
    timer = setTimeout(() => reject(error), callMs)
  })
  try {
    return await Promise.race([late, answerOf(channel, method, request, callMs)])
  } finally {
    clearTimeout(timer)
    channel.close()
  }
}

async function answerOf<Request, Response>(
  channel: Channel,
  { path, requestSerialize, responseDeserialize }: Method<Request, Response>,
  request: Request,
  withinMs: number,
): Promise<Response> {
  await channel.ready
  const answer = await new Promise<Buffer>((resolve, reject) => {
    let first: Buffer | undefined
    const user: CallUser = {
      message(bytes) {
        if (first !== undefined) reject(new MeshCallError("INTERNAL", "there is more than one response"))
        first = bytes
      },
      ended({ code, message }) {
        if (code !== "OK") reject(MeshCallError.of(code, message))
        else if (first === undefined) reject(new MeshCallError("INTERNAL", "the response is empty"))
        else resolve(first)
      },
    }
    const call = channel.call(path, user, withinMs)
    call.send(requestSerialize(request))
    call.end()
  })
  try {
    return responseDeserialize(answer)
  } catch (error) {
    throw new MeshCallError("INTERNAL", `the response cannot be read: ${messageOf(error)}`)
  }
}
