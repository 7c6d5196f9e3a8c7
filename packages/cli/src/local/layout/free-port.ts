// SPDX-License-Identifier: Apache-2.0
// Checks whether a port is free by listening on it for a moment.

import { createServer } from "node:net"

export type PortState = "free" | "taken" | "not permitted" | "no such address"

export type Look = (address: string, port: number) => Promise<PortState>

export const lookAtPort: Look = (address, port) =>
  new Promise(resolve => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resolve(portStateOf(error)))
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve("free")))
  })

function portStateOf({ code }: NodeJS.ErrnoException): PortState {
  if (code === "EACCES" || code === "EPERM") return "not permitted"
  return code === "EADDRNOTAVAIL" ? "no such address" : "taken"
}
