// SPDX-License-Identifier: Apache-2.0
// A connecting socket for pools, which send nothing before it is ready. With mTLS that is after the server has proven
// an expected identity; otherwise it is disconnected.

import type { Socket } from "node:net"
import { connectTcp, placeOf } from "@merlon/wire"
import { type ConnectOptions, serverError, startTls } from "./connect.js"

export function openSocket(options: ConnectOptions): Socket {
  const { endpoint, plan, timeoutMs, allowHalfOpen = false } = options
  const { address: host, port, otherAddresses: fallback = [] } = endpoint
  // Each address has an equal share of the time.
  const attemptMs = Math.ceil(timeoutMs / (1 + fallback.length))
  const address = { host, port, fallback }
  if (plan.kind === "plaintext") return connectTcp(address, attemptMs, { allowHalfOpen })
  const tcp = fallback.length === 0 ? connectTcp(address, attemptMs, { allowHalfOpen }) : undefined
  try {
    const place = tcp === undefined ? placeOf(address, attemptMs) : { socket: tcp }
    const socket = startTls({ ...place, allowHalfOpen }, options, plan)
    socket.once("secureConnect", () => {
      const error = serverError(socket, plan, options)
      if (error !== undefined) socket.destroy(new Error(error))
    })
    return socket
  } catch (error) {
    // The socket has no listener yet: an error on it would end the process.
    tcp?.destroy()
    throw error
  }
}
