// SPDX-License-Identifier: Apache-2.0
// Wires the server: listener, gRPC, streams and shutdown.

import { messageOf, SILENT } from "../runtime/log.js"
import {
  deltaAggregatedResources,
  observe as observeMethod,
  report,
  signCertificate,
  streamAggregatedResources,
} from "../wire/methods.js"
import { type Authenticated, Authenticator } from "./authenticate.js"
import { CallerCount } from "./caller-count.js"
import type { GrpcCall } from "./grpc/call.js"
import { GrpcServer } from "./grpc/server.js"
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "./limits.js"
import { type Connection, Listener } from "./listener.js"
import type { Protocol } from "./observer.js"
import type { MeshServerOptions, RunningServer } from "./options.js"
import { type PeerCertificate, trustIn } from "./peer-certificate.js"
import {
  type DiscoveryRequests,
  deltaProtocol,
  type PlainResponse,
  type StreamProtocol,
  sotwProtocol,
} from "./protocols.js"
import { proxyService } from "./serve-calls.js"
import { ObservedStream } from "./serve-observations.js"
import { ServedStream } from "./serve-stream.js"
import type { OpenStream, ServerContext } from "./server-context.js"
import type { StreamError } from "./stream-error.js"

const GOING: StreamError = { code: "UNAVAILABLE", message: "the control plane is shutting down; reconnect" }

export async function startServer(options: MeshServerOptions): Promise<RunningServer> {
  const limits: ServerLimits = { ...DEFAULT_SERVER_LIMITS, ...options.limits }
  const { log = SILENT, observe = {}, now = Date.now, source } = options
  const { verifyToken, checkCertificate } = options
  let trusts = trustIn(options.credentials().clientTrustBundle)
  const isTrusted = (certificate: PeerCertificate): boolean => trusts(certificate)
  const reject = options.reject ?? (() => undefined)
  const authenticator = new Authenticator({ verifyToken, checkCertificate, isTrusted, reject, limits, log, now })
  const open = new Map<OpenStream, Protocol>()
  const callers = new CallerCount(limits)
  let draining = false

  const counts: Record<Protocol, number> = { delta: 0, sotw: 0, observe: 0 }
  const count = (protocol: Protocol, by: 1 | -1) => {
    counts[protocol] += by
    observe.streams?.(protocol, counts[protocol])
  }
  const context: ServerContext = {
    source,
    authenticator,
    limits,
    observe,
    log,
    now,
    admit: stream => callers.admit(stream),
    charge: (stream, bytes) => callers.charge(stream, bytes),
    closed: stream => {
      callers.release(stream)
      const protocol = open.get(stream)
      if (open.delete(stream) && protocol !== undefined) count(protocol, -1)
    },
  }

  function serve<Request extends DiscoveryRequests, Plain extends PlainResponse>(
    protocol: StreamProtocol<Request, Plain>,
  ): (call: GrpcCall) => void {
    return call => {
      const stream = new ServedStream(context, call, protocol)
      open.set(stream, protocol.name)
      count(protocol.name, 1)
      if (draining) stream.end(GOING)
      else void stream.run()
    }
  }

  const { observations } = options
  const listening = (call: GrpcCall): void => {
    if (observations === undefined) {
      call.finish("UNIMPLEMENTED", "this server accepts no observations")
      return
    }
    const stream = new ObservedStream(context, observations, call)
    open.set(stream, "observe")
    count("observe", 1)
    if (draining) stream.end(GOING)
    else void stream.run()
  }

  const calls = proxyService(context, options)
  const methods = new Map<string, (call: GrpcCall) => void>([
    [deltaAggregatedResources.path, serve(deltaProtocol)],
    [streamAggregatedResources.path, serve(sotwProtocol)],
    [signCertificate.path, calls.signing],
    [report.path, calls.reporting],
    [observeMethod.path, listening],
  ])
  const server = new GrpcServer({
    limits,
    serve(call) {
      const method = methods.get(call.path)
      if (method === undefined) call.finish("UNIMPLEMENTED", "unknown method")
      else method(call)
    },
  })
  const { host, port, credentials } = options
  const accept = (connection: Connection): void => server.accept(connection)
  const listener = await Listener.listen({ host, port, credentials, limits, log, accept, counted: observe.connections })

  function recheck(reject = options.reject): void {
    for (const stream of [...open.keys()]) {
      const { authenticated } = stream
      if (authenticated === undefined) continue
      try {
        const error = reject?.(authenticated.caller) ?? recheckCertificate(authenticated)
        if (error !== undefined) stream.end(error)
      } catch (error) {
        // Fail closed: a client that cannot be checked again is disconnected, and may authenticate again.
        log.error({ error: messageOf(error) }, "a caller could not be checked again")
        stream.end({ code: "INTERNAL", message: "the control plane failed on this stream; reconnect" })
      }
    }
  }

  function recheckCertificate({ certificate }: Authenticated): StreamError | undefined {
    const again = certificate && authenticator.byCertificate(certificate)
    return again !== undefined && "code" in again ? again : undefined
  }

  // Certificates expire and Pods are deleted without a notification.
  const rechecking = setInterval(() => recheck(), limits.recheckMs).unref()

  let ending: Promise<void> | undefined
  function end(graceMs: number): Promise<void> {
    ending ??= new Promise<void>(resolve => {
      draining = true
      clearInterval(rechecking)
      for (const stream of [...open.keys()]) stream.end(GOING)
      const cut = setTimeout(() => {
        listener.destroy()
        resolve()
      }, graceMs)
      listener.stop()
      server.drain()
      void listener.emptied().then(() => {
        clearTimeout(cut)
        resolve()
      })
    })
    return ending
  }

  return {
    port: listener.port,
    credentialsChanged() {
      trusts = trustIn(options.credentials().clientTrustBundle)
      listener.swap()
    },
    recheck(reject) {
      trusts = trustIn(options.credentials().clientTrustBundle)
      recheck(reject)
    },
    drain: () => end(limits.drainMs),
    async close() {
      listener.destroy()
      await end(0)
    },
  }
}
