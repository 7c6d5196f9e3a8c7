// SPDX-License-Identifier: Apache-2.0
// A small mesh for tests: an authority, servers that answer with their name over mutual TLS or plaintext, and the
// routes that lead to them.

import { createPrivateKey, createPublicKey } from "node:crypto"
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http"
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"
import { CertificateAuthority, createRoot, makeSigningRequest } from "@merlon/identity"
import type { EffectiveMode } from "@merlon/policy/selection"
import {
  clusterName,
  type HostRoutesSpec,
  type ServiceCluster,
  type ServiceEndpoint,
  type TrustSpec,
  type WeightedRoute,
} from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"

export const WEB_HOST = "web.app.svc.cluster.local"
export const WEB_ID = "spiffe://cluster.local/ns/app/sa/web"
export const CONSUMER_ID = "spiffe://cluster.local/ns/app/sa/consumer"

const HOUR = 3_600_000

export class TestMesh {
  readonly authority = newAuthority()
  readonly #servers: Server[] = []
  readonly #sockets = new Set<Socket>()

  get trust(): TrustSpec {
    const { bundle, fingerprint: signer } = this.authority
    return { bundle, signer, revokedIdentities: [], revokedSerials: [] }
  }

  /** Valid for one hour from `now`. */
  credentials(identity = CONSUMER_ID, authority = this.authority, now = Date.now()): WorkloadCredentials {
    const { privateKey } = makeSigningRequest()
    const publicKey = createPublicKey(createPrivateKey(privateKey)).export({ type: "spki", format: "der" })
    const { certificateChain } = authority.sign({ publicKey, identity, ttlMs: HOUR, now })
    return { certificateChain, privateKey }
  }

  /** `seen` records the requests that the server received. */
  async server(name: string, words: TestServerOptions = {}): Promise<TestServer> {
    const seen: SeenRequest[] = []
    const answer: RequestListener =
      words.answer ?? ((request, response) => response.end(`${name} ${request.method} ${request.url}`))
    const listener: RequestListener = (request, response) => {
      seen.push(seenOf(request))
      answer(request, response)
    }
    const server = this.#listener(words, listener)
    server.on("connection", socket => {
      this.#sockets.add(socket)
      socket.once("close", () => this.#sockets.delete(socket))
    })
    this.#servers.push(server)
    await new Promise<void>(resolve => server.listen(0, words.address ?? "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo // it listens on TCP
    const { mtlsMode = words.plaintext === true ? undefined : "STRICT", healthy = true } = words
    const address = words.address ?? "127.0.0.1"
    const endpoint: ServiceEndpoint = { address, port, healthy, workload: `app/${name}`, mtlsMode }
    return { endpoint, seen }
  }

  routes(destinations: readonly TestDestination[], words: Partial<RouteArguments> = {}): HostRoutesSpec {
    const clusters = destinations.map(({ subset, endpoints, ...rest }): ServiceCluster => {
      const key = { port: 80, subset, host: WEB_HOST }
      return {
        name: clusterName(key),
        ...key,
        tlsMode: undefined,
        sni: WEB_HOST,
        identities: [WEB_ID],
        endpoints,
        ...rest.cluster,
      }
    })
    const all = clusters.map(({ name }, index) => ({ cluster: name, weight: destinations[index]?.weight ?? 1 }))
    return {
      table: {
        host: WEB_HOST,
        port: 80,
        aliases: ["web", "web.app", "web.app.svc"],
        routes: words.routes ?? [{ match: [], destinations: all }],
      },
      clusters,
      services: [{ host: WEB_HOST, ports: [{ port: 80, mtlsMode: "STRICT", mixed: false }] }],
      trust: words.trust ?? this.trust,
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(this.#servers.map(server => new Promise(resolve => server.close(resolve))))
  }

  /** Behaves like the proxy of a server: HTTP/2 to callers that offer it, HTTP/1.1 to others. */
  #listener(words: TestServerOptions, listener: RequestListener): Server {
    const http1 = createHttpServer(listener)
    if (words.plaintext === true) return createServer(socket => http1.emit("connection", socket))
    const http2 = createHttp2Server({ settings: { enableConnectProtocol: true } })
    // Node's compatibility API has everything that these servers use.
    http2.on("request", listener as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void)
    if (words.connect !== undefined) http2.on("connect", words.connect)
    return createTlsServer(this.#tls(words), socket => {
      socket.on("error", () => undefined)
      const server = socket.alpnProtocol === "merlon-h2" ? http2 : http1
      server.emit("connection", socket)
    })
  }

  #tls({ identity = WEB_ID, authority = this.authority }: TestServerOptions) {
    const { certificateChain: cert, privateKey: key } = this.credentials(identity, authority)
    const ALPNProtocols = ["merlon-h2", "merlon-http/1.1", "merlon", "http/1.1"]
    return { cert, key, ca: this.authority.bundle, requestCert: true, rejectUnauthorized: true, ALPNProtocols }
  }
}

export interface TestServerOptions {
  readonly identity?: string
  readonly authority?: CertificateAuthority
  readonly plaintext?: boolean
  readonly mtlsMode?: EffectiveMode | undefined
  readonly healthy?: boolean
  /** The listen address; 127.0.0.1 by default. */
  readonly address?: string
  readonly answer?: RequestListener
  /** Answers extended CONNECT (RFC 8441). */
  readonly connect?: (request: Http2ServerRequest, response: Http2ServerResponse) => void
}

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly sni: string | undefined
  readonly alpn: string | undefined
  readonly client: string | undefined
  readonly connection: number
}

export interface TestServer {
  readonly endpoint: ServiceEndpoint
  readonly seen: readonly SeenRequest[]
}

export interface TestDestination {
  readonly subset: string
  readonly weight?: number
  readonly endpoints: readonly ServiceEndpoint[]
  readonly cluster?: Partial<ServiceCluster>
}

interface RouteArguments {
  readonly routes: readonly WeightedRoute[]
  readonly trust: TrustSpec
}

export function newAuthority(): CertificateAuthority {
  return new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now: Date.now() }), Date.now())
}

function seenOf(request: IncomingMessage): SeenRequest {
  // Plain sockets lack these properties, and the types do not declare the server name of a server's socket.
  const socket = request.socket as Partial<TLSSocket> & { readonly servername?: string | false }
  return {
    method: request.method ?? "",
    url: request.url ?? "",
    headers: { host: String(request.headers[":authority"]), ...request.headers },
    sni: socket.servername || undefined,
    alpn: socket.alpnProtocol || undefined,
    client: socket.getPeerCertificate?.().subjectaltname,
    connection: request.socket.remotePort ?? 0,
  }
}
