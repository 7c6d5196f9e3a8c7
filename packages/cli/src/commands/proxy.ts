// SPDX-License-Identifier: Apache-2.0
// `merlond proxy`: both directions of one workload in one process. Inbound is xserver. Outbound accepts the calls of
// the workload, redirected by its Pod's network or sent through `http_proxy`, and makes them under the workload's
// identity.

import type { Socket } from "node:net"
import { type Destination, type Libc, loadLibc } from "@merlon/wire/native"
import { CapturedProxy, OutboundPolicy, OutboundProxy, SavedRoutes, WorkloadCalls } from "@merlon/xclient"
import { isOwnUser } from "@merlon/xds/runtime"
import { Command, Option } from "commander"
import { type Address, loopback, whole } from "../arguments.js"
import { ObservedCalls } from "../calls/observed-calls.js"
import { type MakeCalls, type ProxyFlags, runProxy, tracesOf, withProxyOptions } from "./xserver.js"

interface Flags extends ProxyFlags {
  readonly outbound?: number
  readonly httpProxy?: Address
}

/** A listener that accepts outbound calls. */
interface CallListener {
  listen(): Promise<unknown>
  close(): Promise<void>
}

export function proxyCommand(): Command {
  return withProxyOptions(new Command("proxy"))
    .description("Run the proxy of a workload for both directions: enforce its policies, and send its calls over mTLS")
    .addOption(
      new Option("--outbound <port>", "accept connections that `merlond capture` redirects to this port on loopback")
        .env("MERLON_PROXY_OUTBOUND")
        .argParser(whole(1, 65_535)),
    )
    .addOption(
      new Option(
        "--http-proxy <host:port>",
        "accept calls of programs of the same user with `http_proxy` set to this address",
      )
        .env("MERLON_PROXY_HTTP_PROXY")
        .argParser(loopback),
    )
    .action(async (flags: Flags, command: Command) => {
      if (flags.outbound === undefined && flags.httpProxy === undefined) {
        throw new Error(
          "say how the workload calls: `--outbound PORT` or `--http-proxy HOST:PORT`; without calls, run `xserver`",
        )
      }
      const libc = flags.outbound === undefined ? undefined : await loadLibc()
      if (libc !== undefined && "unavailable" in libc)
        throw new Error(`captured connections cannot be carried here (${libc.unavailable}); use \`--http-proxy\``)
      await runProxy(flags, command, callsOf(flags, libc))
    })
}

function callsOf(flags: Flags, libc: Libc | undefined): MakeCalls {
  const { outbound: port, httpProxy, accessLog } = flags
  return (bootstrap, logger, source) => {
    const { workload, names } = bootstrap
    const { mesh } = names
    const observer = new ObservedCalls({ mesh, workload, accessLog, traces: tracesOf(flags) })
    const calls = new WorkloadCalls({
      mesh,
      observer,
      log: logger,
      credentials: () => source().credentials,
      resubscribe: () => source().resubscribe(calls.knownRoutes.subscription.typeUrl),
      policy: new OutboundPolicy(),
    })
    const { knownRoutes, outbound, requests } = calls
    const listeners: CallListener[] = []
    if (port !== undefined && libc !== undefined) {
      const destinationOf = (socket: Socket) => originalDestination(socket, libc)
      const isControlPlaneAway = () => source().isControlPlaneAway
      const captured = new CapturedProxy({
        ...{ knownRoutes, outbound, requests, destinationOf, isControlPlaneAway, observer },
        log: logger,
      })
      listeners.push({ listen: () => captured.listen(port), close: () => captured.close() })
    }
    if (httpProxy !== undefined) {
      // Other users of the machine can connect to loopback too, and must not call under the identity of the workload.
      const explicit = new OutboundProxy({
        ...{ knownRoutes, outbound, requests, mesh, allowExternal: true, log: logger, observer },
        mayCall: isOwnUser,
      })
      listeners.push({ listen: () => explicit.listen(httpProxy), close: () => explicit.close() })
    }
    let kept: SavedRoutes | undefined
    return {
      subscriptions: [knownRoutes.subscription],
      taken: port === undefined ? "http_proxy" : "captured",
      destinations: () => observer.destinations(),
      metrics: () => observer.metrics(),
      start: async () => {
        if (bootstrap.state !== undefined) kept = new SavedRoutes(knownRoutes, bootstrap.state, logger)
        for (const listener of listeners) await listener.listen()
        logger.info({ outbound: port, httpProxy }, "taking the calls of the workload")
      },
      stop: async () => {
        await Promise.all(listeners.map(listener => listener.close()))
        await kept?.close()
        calls.close()
        await observer.close()
      },
    }
  }
}

/** Reads the file descriptor of a socket, which Node does not expose and the C library needs. */
function originalDestination(socket: Socket, libc: Libc): Destination | undefined {
  const { fd } = (socket as Socket & { readonly _handle?: { readonly fd?: number } })._handle ?? {}
  return fd === undefined ? undefined : libc.originalDestination(fd, socket.localFamily === "IPv6" ? 6 : 4)
}
