// SPDX-License-Identifier: Apache-2.0
//
// A port nobody listens on at this moment. Servers that must keep their address across restarts need it beforehand.

import { createServer } from "node:net"

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  if (address === null || typeof address === "string") throw new Error("no port was given")
  return address.port
}
