// SPDX-License-Identifier: Apache-2.0
// The least that a program on `node:tls` does for a mutual handshake: it takes the connection and answers by itself. What
// is below it is OpenSSL's and Node's; what is above it is a proxy's own. Run without a loader, so of types alone.

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
