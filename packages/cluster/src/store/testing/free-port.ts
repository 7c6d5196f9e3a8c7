// SPDX-License-Identifier: Apache-2.0
// A free port that no other test gets, for servers that must keep their address across restarts. It is below the range
// of ports for outgoing connections (RFC 6335 section 6, and Linux from 32768). Otherwise a client could occupy it
// while the server restarts.

import { randomInt } from "node:crypto"
import { createServer } from "node:net"
import { claim } from "./claim.js"

const LOWEST = 20_000
const BEYOND = 32_768

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, BEYOND)
    if ((await claim("127.0.0.1", port)) && (await isFree(port))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise(resolve => {
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })
}
