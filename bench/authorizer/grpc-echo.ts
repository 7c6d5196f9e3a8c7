// SPDX-License-Identifier: Apache-2.0
// A gRPC server on `node:http2` that returns the message it receives: the cost of a check without a decision.

import { createServer } from "node:http2"

const server = createServer()
server.on("stream", stream => {
  const parts: Buffer[] = []
  stream.on("data", (part: Buffer) => parts.push(part))
  stream.on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
    stream.end(Buffer.concat(parts))
  })
})
server.listen(Number(process.argv[2]), "127.0.0.1")
