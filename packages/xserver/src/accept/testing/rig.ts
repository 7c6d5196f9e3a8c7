// SPDX-License-Identifier: Apache-2.0
// A listener on a free port with its gate, credentials and connections, for tests over real sockets.

import { once } from "node:events"
import { createServer, type Server } from "node:net"
import { createSecureContext, TLSSocket } from "node:tls"
import { compile, type Program } from "@merlon/policy/authorization"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { EffectiveMode } from "@merlon/policy/selection"
import type { ApplicationPort } from "../../config/application-port.js"
import { Gate } from "../../enforcement/gate.js"
import { DEFAULT_LIMITS, type Limits } from "../../limits.js"
import { serveTcp } from "../../tcp/serve-tcp.js"
import type { ConnectionHandler } from "../accepted.js"
import { Connections } from "../connections.js"
import { type Handlers, Listener } from "../listener.js"
import { TransportSecurity } from "../transport-security.js"
import { Authority } from "./certificates.js"
import { RecordingMeters } from "./recording-meters.js"

export const SERVICE_NAME = "orders.shop.svc.cluster.local"
export const WORKLOAD = { namespace: "shop", name: "orders-1", labels: { app: "orders" } }
const API_VERSION = "security.merlon.dev/v1alpha3"

export interface RigOptions {
  readonly mode?: EffectiveMode
  readonly policies?: readonly PolicyDocument[]
  readonly port?: Partial<ApplicationPort>
  readonly limits?: Partial<Limits>
  readonly authority?: Authority
  readonly handlers?: (rig: Rig) => Partial<Handlers>
}

export class Rig {
  readonly authority: Authority
  readonly meters = new RecordingMeters()
  readonly connections: Connections
  readonly security: TransportSecurity
  readonly gate: Gate
  readonly limits: Limits
  readonly listener: Listener
  readonly #policies: readonly PolicyDocument[]

  constructor(options: RigOptions) {
    const { mode = "PERMISSIVE", policies = [], authority = new Authority(), port = {}, limits = {} } = options
    this.authority = authority
    this.#policies = policies
    this.gate = new Gate(programOf(mode, policies))
    this.limits = { ...PATIENT_LIMITS, ...limits }
    this.connections = new Connections(this.limits)
    this.security = new TransportSecurity(this.connections)
    this.security.swap(authority.material())
    const given = options.handlers?.(this) ?? {}
    const handlers: Handlers = { tcp: serveTcp(this), http1: unexpected, http2: unexpected, ...given }
    this.listener = new Listener({ ...this.parts, handlers, port: { ...PORT, ...port } })
  }

  get parts() {
    const { gate, security, connections, limits, meters } = this
    return { gate, security, connections, limits, meters }
  }

  get port(): number {
    return this.listener.address.port
  }

  setMode(mode: EffectiveMode): void {
    this.gate.swap(programOf(mode, this.#policies))
    this.listener.enforceMode()
  }

  async stop(): Promise<void> {
    this.listener.destroy()
    this.connections.destroyAll()
    await this.meters.until(meters => meters.open === 0)
  }
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const rig = new Rig(options)
  await rig.listener.listen()
  return rig
}

/** Long limits, so that a busy machine closes no connection; tests of a limit set a short one. */
export const PATIENT_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  connectTimeoutMs: 120_000,
  handshakeTimeoutMs: 120_000,
  headerTimeoutMs: 120_000,
}

const PORT: ApplicationPort = {
  listen: { host: "127.0.0.1", port: 0 },
  port: 8080,
  upstream: { host: "127.0.0.1", port: 1 },
  protocol: "http",
  upstreamProtocol: "http/1.1",
  serviceNames: [SERVICE_NAME],
}

function programOf(mode: EffectiveMode, policies: readonly PolicyDocument[]): Program {
  const peers: PolicyDocument = {
    apiVersion: API_VERSION,
    kind: "PeerAuthentication",
    metadata: { name: "peers", namespace: "merlon-system" },
    spec: { mtls: { mode } },
  }
  return compile([peers, ...policies], WORKLOAD, meshConfig())
}

/** An AuthorizationPolicy in the workload's namespace. */
export function authorization(
  name: string,
  spec: Extract<PolicyDocument, { kind: "AuthorizationPolicy" }>["spec"],
): PolicyDocument {
  return { apiVersion: API_VERSION, kind: "AuthorizationPolicy", metadata: { name, namespace: "shop" }, spec }
}

const unexpected: ConnectionHandler = ({ socket }) => {
  socket.destroy()
}

/** An application that echoes, in cleartext or in its own TLS, and reports which. */
export async function startEcho(
  authority = new Authority("The application's own"),
): Promise<Server & { port: number }> {
  const { certificate, privateKey } = authority.issue({ uris: [], dns: ["app.example"] })
  const secureContext = createSecureContext({ cert: certificate, key: privateKey })
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on("error", () => undefined)
    socket.once("data", first => {
      socket.pause()
      socket.unshift(first)
      const stream = first[0] === 22 ? new TLSSocket(socket, { isServer: true, secureContext }) : socket
      stream.on("error", () => undefined)
      stream.write(stream === socket ? "echo:" : "app-tls:")
      stream.pipe(stream)
    })
  })
  const port = await listening(server)
  return Object.assign(server, { port })
}

export async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("not listening")
  return address.port
}
