// SPDX-License-Identifier: Apache-2.0
// The connection to an etcd cluster: one channel per endpoint with failover to the next, TLS, and login by user name or
// client certificate. Every call has a deadline. A call is only retried if its caller allows it.

import { createSecureContext } from "node:tls"
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
} from "@grpc/grpc-js"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { ClusterError } from "../../errors.js"
import { isPassing, isServiceError, isStaleToken } from "./failure.js"
import { decodeText, decodeWatch, encodeAuthenticate, type WatchResponse } from "./messages.js"

export interface EtcdOptions {
  /** `http://host:2379`, `https://host:2379` or `host:2379`; the first endpoint that responds is used. */
  readonly endpoints: readonly string[]
  /** PEM. A client certificate and key if etcd requires them. */
  readonly tls?: { ca?: Buffer; certificate?: Buffer; key?: Buffer }
  /** Credentials if etcd's own authentication is enabled. */
  readonly user?: { name: string; password: string }
  /** The prefix of all keys. Default `/merlon`. */
  readonly prefix?: string
  /** The timeout of a call, including connecting. Default 5 s. */
  readonly timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 5_000
/** etcd rejects pings more often than every 5 s. A dead peer is detected after the sum of both times. */
const KEEPALIVE_MS = 10_000
const KEEPALIVE_TIMEOUT_MS = 5_000
const RETRY_MS = 100
const WATCH = "/etcdserverpb.Watch/Watch"

const channelOptions: ChannelOptions = {
  "grpc.keepalive_time_ms": KEEPALIVE_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // A retry in the gRPC library could write twice.
  "grpc.enable_retries": 0,
  "grpc.initial_reconnect_backoff_ms": RETRY_MS,
  "grpc.max_reconnect_backoff_ms": 2_000,
}

export class Connection {
  readonly timeoutMs: number
  readonly #clients: Client[]
  readonly #user: EtcdOptions["user"]
  /** The endpoint that each watch uses. */
  readonly #watches = new WeakMap<object, Client>()
  #current = 0
  #token: string | undefined
  #closed = false

  constructor(options: EtcdOptions) {
    if (options.endpoints.length === 0) throw new ClusterError("invalid-flag", "etcd needs at least one endpoint")
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
    this.#user = options.user
    this.#clients = options.endpoints.map(endpoint => {
      const { address, secure } = parseEndpoint(endpoint)
      return new Client(address, secure ? etcdCredentials(options.tls) : credentials.createInsecure(), channelOptions)
    })
  }

  /** Sends a request once. After a failure it is unknown whether etcd acted on it, unless etcd itself rejected it. */
  async once<T>(
    method: string,
    request: Buffer,
    decode: (data: Uint8Array) => T,
    timeoutMs = this.timeoutMs,
  ): Promise<T> {
    const deadline = Date.now() + timeoutMs
    // Endpoints are tried until one is connected: as long as the request has not been sent, a retry is harmless.
    const client = await this.#connected(deadline)
    try {
      return await this.#unary(client, method, request, decode, deadline)
    } catch (error) {
      if (isPassing(error)) this.#leave(client)
      if (!isStaleToken(error) || this.#user === undefined) throw error
      // Rejected before it was processed, so a second attempt is safe.
      this.#token = undefined
      return await this.#unary(client, method, request, decode, deadline)
    }
  }

  /** For requests that change nothing: tries every endpoint until the deadline. */
  async repeatedly<T>(method: string, request: Buffer, decode: (data: Uint8Array) => T): Promise<T> {
    const deadline = Date.now() + this.timeoutMs
    // An endpoint that is connected but does not respond must leave time for the others.
    const share = this.timeoutMs / this.#clients.length
    for (;;) {
      try {
        return await this.once(method, request, decode, Math.min(share, deadline - Date.now()))
      } catch (error) {
        if (!(isPassing(error) || isUnreachable(error)) || Date.now() + RETRY_MS > deadline || this.#closed) throw error
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  async watch(): Promise<ClientDuplexStream<Buffer, WatchResponse>> {
    const client = await this.#connected(Date.now() + this.timeoutMs)
    try {
      const metadata = await this.#metadata(client, Date.now() + this.timeoutMs)
      // A member that is cut off from its peers then returns an error instead of staying silent.
      metadata.set("hasleader", "true")
      const watch = client.makeBidiStreamRequest(WATCH, (data: Buffer) => data, decodeWatch, metadata)
      this.#watches.set(watch, client)
      return watch
    } catch (error) {
      this.#leave(client)
      throw error
    }
  }

  /** Reports that the endpoint of this watch has failed, so that the next call uses another one. */
  failed(watch: object, error: unknown): void {
    const client = this.#watches.get(watch)
    if (isStaleToken(error)) this.#token = undefined
    else if (client !== undefined) this.#leave(client)
  }

  close(): void {
    this.#closed = true
    for (const client of this.#clients) client.close()
  }

  /**
   * Does nothing if another caller has already left the endpoint: of two endpoints, leaving twice would return to it.
   */
  #leave(client: Client): void {
    if (this.#clients[this.#current] === client) this.#current = (this.#current + 1) % this.#clients.length
  }

  async #connected(deadline: number): Promise<Client> {
    const share = Math.max(RETRY_MS, this.timeoutMs / this.#clients.length)
    for (;;) {
      if (this.#closed) throw new ClusterError("store-closed", "the store is closed")
      const client = this.#clients[this.#current] ?? this.#clients[0]
      if (client === undefined) throw new ClusterError("invalid-flag", "etcd needs at least one endpoint")
      const until = Math.min(deadline, Date.now() + share)
      const error = await new Promise<Error | undefined>(resolve => client.waitForReady(until, resolve))
      if (error === undefined) return client
      this.#leave(client)
      // A timer may fire a millisecond early, and the next endpoint would be left without having had time to respond.
      if (Date.now() + RETRY_MS > deadline)
        throw new ClusterError("store-unreachable", "etcd cannot be reached", { cause: error })
    }
  }

  async #unary<T>(
    client: Client,
    method: string,
    request: Buffer,
    decode: (data: Uint8Array) => T,
    deadline: number,
  ): Promise<T> {
    return await call(client, method, request, decode, await this.#metadata(client, deadline), deadline)
  }

  async #metadata(client: Client, deadline: number): Promise<Metadata> {
    const metadata = new Metadata()
    if (this.#user === undefined) return metadata
    this.#token ??= await this.#logIn(client, this.#user, deadline)
    metadata.set("token", this.#token)
    return metadata
  }

  async #logIn(client: Client, user: { name: string; password: string }, deadline: number): Promise<string> {
    const request = encodeAuthenticate(user.name, user.password)
    try {
      return await call(client, "/etcdserverpb.Auth/Authenticate", request, decodeText, new Metadata(), deadline)
    } catch (error) {
      if (!isServiceError(error) || isPassing(error)) throw error
      throw new ClusterError("store-rejected", `etcd rejected the log-in of \`${user.name}\`: ${error.details}`, {
        cause: error,
      })
    }
  }
}

function call<T>(
  client: Client,
  method: string,
  request: Buffer,
  decode: (data: Uint8Array) => T,
  metadata: Metadata,
  deadline: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      method,
      (data: Buffer) => data,
      decode,
      request,
      metadata,
      { deadline },
      (error, value?: T) => {
        if (error !== null) reject(error)
        else if (value === undefined) reject(new Error("etcd answered with nothing"))
        else resolve(value)
      },
    )
  })
}

/** No endpoint received the request, so it may be sent again. */
function isUnreachable(error: unknown): boolean {
  return error instanceof ClusterError && error.code === "store-unreachable"
}

export function parseEndpoint(endpoint: string): { address: string; secure: boolean } {
  const match = /^(?:(https?):\/\/)?([^/\s]+:\d+)\/?$/.exec(endpoint)
  const address = match?.[2]
  if (address === undefined)
    throw new ClusterError("invalid-flag", `\`${endpoint}\` is not an etcd endpoint; write https://host:2379`)
  return { address, secure: match?.[1] === "https" }
}

export function etcdCredentials({ ca, key, certificate }: NonNullable<EtcdOptions["tls"]> = {}): ChannelCredentials {
  const context = createSecureContext({
    ...TLS_FLOOR,
    ...(ca === undefined ? {} : { ca }),
    ...(key === undefined ? {} : { key }),
    ...(certificate === undefined ? {} : { cert: certificate }),
  })
  return credentials.createFromSecureContext(context)
}
