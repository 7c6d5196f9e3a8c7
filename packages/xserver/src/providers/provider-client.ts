// SPDX-License-Identifier: Apache-2.0
// One provider with its own connection pool, so that a slow or dead provider delays only requests that need it, and
// only as many of those as may wait. Each check has one deadline for everything, and completes exactly once.

import { isIP } from "node:net"
import { checkServerIdentity, connect as connectTls } from "node:tls"
import { type AuthorizationProvider, hostAndPort } from "@merlon/policy/mesh"
import { type BorrowedBytes, ByteQueue, connectTcp, FieldList, Http1Pool, Http2Pool, placeOf } from "@merlon/wire"
import {
  type Connect,
  type Deadlines,
  type Fields,
  type Framing,
  NO_BODY,
  type OutgoingRequest,
  type ResponseHead,
  type Upstream,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamLimits,
  type UpstreamListener,
} from "@merlon/wire/http"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { failed, MAX_ANSWER_BYTES, type ProviderAnswer, type ProviderFailure } from "./answer.js"
import type { AnswerMessage, ProviderProtocol, ProviderRequest } from "./protocol.js"
import { askedByField, type ProviderQuestion } from "./question.js"

const NO_FIELDS = new FieldList([])
/** A machine that has vanished does not close its connections. */
const PROBE_AFTER_MS = 5_000
const KEEP_ALIVE_MS = 30_000
const LIMITS = {
  headerBytes: MAX_ANSWER_BYTES,
  headerLines: 100,
  callerSharePercent: 50,
  pendingRequests: 1_000,
  upstreamStreams: 1_000,
  responseTimeoutMs: 0,
  keepAliveTimeoutMs: KEEP_ALIVE_MS,
} as const
const CONNECTIONS = { grpc: 8, http: 64, authzen: 64 } as const

const FAILURES: { readonly [failure in UpstreamFailure]: ProviderFailure } = {
  connect: "unreachable",
  "connect-timeout": "unreachable",
  "pending-full": "overloaded",
  refused: "broken",
  reset: "broken",
  protocol: "malformed",
  "response-timeout": "timeout",
}

export class ProviderClient {
  readonly provider: AuthorizationProvider
  readonly #protocol: ProviderProtocol
  readonly #pool: Upstream

  constructor(provider: AuthorizationProvider, protocol: ProviderProtocol, deadlines: Deadlines) {
    this.provider = provider
    this.#protocol = protocol
    const { timeoutMs: connectTimeoutMs } = provider
    const limits: UpstreamLimits = { ...LIMITS, connectTimeoutMs, upstreamConnections: CONNECTIONS[provider.protocol] }
    const options = { connect: connector(provider), limits, deadlines, probeAfterMs: PROBE_AFTER_MS }
    this.#pool = provider.protocol === "grpc" ? new Http2Pool(options) : new Http1Pool(options)
  }

  /** Calls back once, asynchronously, and never after the returned function was called. */
  ask(question: ProviderQuestion, answered: (answer: ProviderAnswer) => void): () => void {
    const { provider } = this
    const { headers, ...message } = this.#protocol.ask(question, provider)
    const asked = { ...message, headers: [...headers, ...askedByField(question)] }
    const reading = new Reading(message => this.#protocol.answer(message, provider), answered)
    const call = this.#pool.send(new Outgoing(asked, provider, question.caller), reading)
    reading.begin(call, provider.timeoutMs)
    if (asked.body !== undefined) call.content(asked.body, 0, asked.body.length)
    call.finishRequest([])
    call.flush()
    return () => reading.stop()
  }

  close(): void {
    void this.#pool.close()
  }
}

class Outgoing implements OutgoingRequest {
  readonly upgrade = undefined
  readonly headers = NO_FIELDS
  readonly takesTrailers = true
  readonly method: string
  readonly target: string
  readonly host: string | undefined
  readonly scheme: "http" | "https"
  readonly framing: Framing
  readonly caller: string
  readonly #request: ProviderRequest

  constructor(asked: ProviderRequest, { tls }: AuthorizationProvider, caller: string) {
    const { method, target, host, body } = asked
    this.method = method
    this.target = target
    this.host = host
    this.scheme = tls === undefined ? "http" : "https"
    this.framing = body === undefined ? NO_BODY : { kind: "length", length: body.length }
    this.caller = caller
    this.#request = asked
  }

  readonly keeps = (): boolean => false

  added(write: (name: string, value: string) => void): void {
    for (const [name, value] of this.#request.headers) write(name, value)
  }
}

/** Reads the answer to one question. INVARIANT: `answered` is called at most once. */
class Reading implements UpstreamListener {
  readonly #read: (message: AnswerMessage) => ProviderAnswer
  readonly #answered: (answer: ProviderAnswer) => void
  readonly #body = new ByteQueue()
  #call: UpstreamCall | undefined
  #timer: NodeJS.Timeout | undefined
  #head: ResponseHead | undefined
  #over = false

  constructor(read: (message: AnswerMessage) => ProviderAnswer, answered: (answer: ProviderAnswer) => void) {
    this.#read = read
    this.#answered = answered
  }

  begin(call: UpstreamCall, timeoutMs: number): void {
    this.#call = call
    this.#timer = setTimeout(() => this.#fail("timeout"), timeoutMs)
  }

  stop(): void {
    if (!this.#end()) return
    this.#call?.abort()
  }

  onInformational(): void {}
  onPause(): void {}
  onWritable(): void {}

  onResponse(head: ResponseHead): void {
    this.#head = head
  }

  onContent(bytes: BorrowedBytes, from: number, to: number): void {
    if (this.#over) return
    if (this.#body.length + to - from > MAX_ANSWER_BYTES) this.#fail("too-large")
    else this.#body.add(bytes, from, to)
  }

  onEnd(trailers: Fields | undefined): void {
    if (!this.#end()) return
    const head = this.#head
    const body = this.#whole()
    this.#answered(head === undefined ? failed("malformed") : this.#understood({ ...head, body, trailers }))
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.#end()) this.#answered(failed(FAILURES[failure]))
  }

  #understood(message: AnswerMessage): ProviderAnswer {
    try {
      return this.#read(message)
    } catch {
      return failed("malformed")
    }
  }

  #fail(why: ProviderFailure): void {
    if (!this.#end()) return
    this.#call?.abort()
    this.#answered(failed(why))
  }

  #end(): boolean {
    if (this.#over) return false
    this.#over = true
    clearTimeout(this.#timer)
    return true
  }

  #whole(): Buffer {
    const parts: Buffer[] = []
    for (let part = this.#body.take(MAX_ANSWER_BYTES); part !== undefined; part = this.#body.take(MAX_ANSWER_BYTES)) {
      parts.push(part)
    }
    return Buffer.concat(parts)
  }
}

function connector({ address, tls, protocol, timeoutMs }: AuthorizationProvider): Connect {
  const place = hostAndPort(address)
  if (tls === undefined) return options => connectTcp(place, timeoutMs, options)
  const { serverName = place.host, ca } = tls
  const alpn = protocol === "grpc" ? "h2" : "http/1.1"
  return options => {
    const socket = connectTls({
      ...options,
      ...placeOf(place, timeoutMs),
      ...TLS_FLOOR,
      // RFC 6066 section 3: an IP address is not sent as the server name. The certificate must still contain it.
      ...(isIP(serverName) === 0 && { servername: serverName }),
      checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
      ALPNProtocols: [alpn],
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    })
    socket.once("secureConnect", () => {
      if (protocol === "grpc" && socket.alpnProtocol !== alpn) socket.destroy()
    })
    return socket
  }
}
