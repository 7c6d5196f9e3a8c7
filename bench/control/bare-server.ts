// SPDX-License-Identifier: Apache-2.0
// Only mutual TLS: on a signal it writes a given number of bytes to each connection, and it discards what it receives.

import { createServer, type TLSSocket } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { type BareServerOrder, PUSH_BYTES } from "./bare-messages.js"

const { chain, privateKey, bundle } = JSON.parse(process.argv[2] ?? "") as BareServerOrder // written by the benchmark
const push = "p".repeat(PUSH_BYTES)
const sockets = new Set<TLSSocket>()
const server = createServer(
  {
    cert: chain,
    key: privateKey,
    ca: bundle,
    requestCert: true,
    rejectUnauthorized: true,
    noDelay: true,
    ...TLS_FLOOR,
  },
  socket => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => sockets.delete(socket))
    socket.on("data", () => undefined)
  },
)
process.on("SIGHUP", () => {
  for (const socket of sockets) socket.write(push, "latin1")
})
server.listen(0, "127.0.0.1", 4_096, () => {
  const address = server.address()
  console.log(`listening ${typeof address === "object" ? address?.port : ""}`)
})
