// SPDX-License-Identifier: Apache-2.0
// The minimum that a program on `node:tls` does for a mutual handshake: it accepts the connection and responds. Costs
// below it are OpenSSL's and Node's; costs above it are the proxy's own. Runs without a loader, so it uses only
// erasable types.

import { readFileSync } from "node:fs"
import { createServer } from "node:tls"

const [port = "0", folder = ""] = process.argv.slice(2)
const file = (name: string): Buffer => readFileSync(`${folder}/${name}`)
const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

const server = createServer(
  {
    cert: file("server.pem"),
    key: file("server.key"),
    ca: file("ca.pem"),
    requestCert: true,
    rejectUnauthorized: true,
  },
  socket => {
    socket.on("error", () => undefined)
    socket.on("data", () => socket.write(ANSWER, "latin1"))
  },
)
server.on("tlsClientError", () => undefined)
server.listen(Number(port), "127.0.0.1")
