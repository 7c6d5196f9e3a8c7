// SPDX-License-Identifier: Apache-2.0
// A connection to the control plane with the trust bundle and the proof of this moment. Channels are not kept: each stream
// and each call makes its own, so that a rotated root or certificate counts from the next one on. Nothing is said on it, least
// of all the token, before the control plane has proven who it is.

import { isIP, type TcpSocketConnectOpts } from "node:net"
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from "node:tls"
import { TLS_FLOOR } from "@merlon/identity"
import { type Log, messageOf } from "../log.js"
import type { Method } from "../wire/methods.js"
import { MeshCallError } from "./call-error.js"
import { readAddress } from "./grpc/address.js"
import { Call, type CallUser } from "./grpc/call.js"
import { GrpcConnection } from "./grpc/connection.js"
import type { ClientLimits, Proof } from "./options.js"

export interface ChannelOptions {
  readonly address: string
  readonly serverName: string
  readonly trustBundle: () => string
  readonly proof: () => Proof
  readonly limits: ClientLimits
  readonly log: Log
}

/** Of a name with several addresses, how long each is tried before the next. */
const NEXT_ADDRESS_MS = 1_000
const TOKEN = /^[\x21-\x7e]+$/

export class Channel {
  /** The control plane has proven itself. Rejects with a MeshCallError where there is no such connection. */
  readonly ready: Promise<void>
  readonly #socket: TLSSocket
  #connection: GrpcConnection | undefined

  /** Throws where address, bundle or proof cannot be used. `leaving`: the control plane sends us to another connection. */
  constructor(options: ChannelOptions, leaving: () => void = () => undefined) {
    const { address, serverName, limits } = options
    const proof = options.proof()
    const token = readToken(proof)
    const socket = connect(wayTo(options, proof))
    socket.setNoDelay(true)
    this.#socket = socket
    this.ready = new Promise((resolve, reject) => {
      const failed = (why: string) => reject(new MeshCallError("UNAVAILABLE", `no connection to ${address}: ${why}`))
      socket.once("error", error => failed(reasonOf(error)))
      socket.once("close", () => failed("it was closed before the control plane had proven itself"))
      socket.once("secureConnect", () => {
        // INVARIANT: `rejectUnauthorized` has seen to this already. Fail closed should that ever change.
        if (!socket.authorized) socket.destroy(new Error("the control plane has not proven itself"))
        else if (socket.alpnProtocol !== "h2") socket.destroy(new Error("who listens there speaks no HTTP/2"))
        else {
          this.#connection = new GrpcConnection({ socket, authority: serverName, token, limits, leaving })
          resolve()
        }
      })
    })
    // Also where nobody waits for it any more.
    this.ready.catch(() => undefined)
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Once it is ready. Throws a MeshCallError where the control plane takes no call. */
  call(path: string, user: CallUser, withinMs?: number): Call {
    const call = this.#connection?.call(path, user, withinMs)
    if (call instanceof Call) return call
    throw MeshCallError.of(call?.code, call?.message ?? "there is no connection")
  }

  close(): void {
    if (this.#connection === undefined) this.#socket.destroy()
    else this.#connection.close()
  }
}

function wayTo(options: ChannelOptions, proof: Proof): ConnectionOptions & TcpSocketConnectOpts {
  const { address, serverName } = options
  return {
    ...readAddress(address),
    secureContext: contextOf(options, proof),
    // Whatever the environment says.
    rejectUnauthorized: true,
    // RFC 6066 section 3: an address is no name to ask for.
    servername: isIP(serverName) === 0 ? serverName : "",
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    ALPNProtocols: ["h2"],
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  }
}

function readToken({ token = "" }: Proof): string | undefined {
  const trimmed = token.trim()
  if (trimmed === "") return undefined
  if (!TOKEN.test(trimmed)) throw new Error("the token holds characters that no token has")
  return trimmed
}

function contextOf({ trustBundle, log }: ChannelOptions, { token, certificate }: Proof): SecureContext {
  const bundle = trustBundle()
  // Fails closed: without roots of the mesh, Node would trust the public ones.
  if (bundle.trim() === "") throw new Error("there is no trust bundle to know the control plane by")
  if (certificate === undefined) return secured(bundle)
  const { chain, privateKey } = certificate
  try {
    return secured(bundle, { key: privateKey, cert: chain })
  } catch (error) {
    if (token === undefined) throw error
    log.warn({ error: messageOf(error) }, "the certificate cannot be used; going by the token alone")
    return secured(bundle)
  }
}

function secured(ca: string, own: { readonly key?: string; readonly cert?: string } = {}): SecureContext {
  return createSecureContext({ ...TLS_FLOOR, ...own, ca })
}

/** Where several addresses were tried, each has its own. */
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
    const error = new MeshCallError("DEADLINE_EXCEEDED", `no answer within ${callMs} ms`)
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
        if (first !== undefined) reject(new MeshCallError("INTERNAL", "there is more than one answer"))
        first = bytes
      },
      ended({ code, message }) {
        if (code !== "OK") reject(MeshCallError.of(code, message))
        else if (first === undefined) reject(new MeshCallError("INTERNAL", "the answer is empty"))
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
    throw new MeshCallError("INTERNAL", `the answer cannot be read: ${messageOf(error)}`)
  }
}
