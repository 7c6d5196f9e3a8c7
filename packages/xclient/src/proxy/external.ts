// SPDX-License-Identifier: Apache-2.0
// Hosts outside the mesh, if they are allowed: called as named, without our credentials.

import { connect, type Socket } from "node:net"
import { clusterName } from "@merlon/xds"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { CallFailure } from "../call/call-failure.js"
import { HostRouting } from "../routes/host-routing.js"
import type { ForwardTarget } from "./forward-target.js"

/** Routes to one endpoint, always in plaintext. */
export function externalRouting({ host, port }: ForwardTarget): HostRouting {
  const key = { host, port, subset: "" }
  const name = clusterName(key)
  const endpoint = { address: host, port, healthy: true, workload: host, mtlsMode: undefined }
  const routes = [{ match: [], destinations: [{ cluster: name, weight: 1 }] }]
  return new HostRouting(
    {
      table: { host, port, aliases: [], routes },
      clusters: [{ ...key, name, tlsMode: "DISABLE", sni: "", identities: [], endpoints: [endpoint] }],
      services: [],
      trust: { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] },
    },
    new EndpointHealth(),
  )
}

export function tunnelExternally(
  target: { readonly host: string; readonly port: number },
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, allowHalfOpen: true })
    const fail = (why: string) => {
      socket.destroy()
      reject(new CallFailure("unreachable", `cannot connect to ${target.host}:${target.port}: ${why}`))
    }
    const onError = (error: Error) => fail(error.message)
    socket.setTimeout(timeoutMs, () => fail(`no connection within ${timeoutMs} ms`))
    socket.once("error", onError)
    socket.once("connect", () => {
      socket.setTimeout(0)
      socket.off("error", onError)
      resolve(socket)
    })
  })
}
