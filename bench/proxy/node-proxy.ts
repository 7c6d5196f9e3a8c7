// SPDX-License-Identifier: Apache-2.0
// A proxy as one would write it with `node:http` and `jose`: the reference for our own data path.

import { createPublicKey } from "node:crypto"
import { readFileSync } from "node:fs"
import http from "node:http"
import https from "node:https"
import { jwtVerify } from "jose"

const [upstream = "", port = "0", kind = "plain", folder = ""] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
const file = (name: string): Buffer => readFileSync(`${folder}/${name}`)
const key = kind.includes("jwt") ? createPublicKey(file("jwt.pub.pem")) : undefined

const handle: http.RequestListener = (request, response) => {
  forward(request, response).catch(() => {
    response.writeHead(403)
    response.end("denied")
  })
}

async function forward(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  if (key !== undefined) {
    const token = (request.headers.authorization ?? "").replace(/^Bearer /, "")
    const { payload } = await jwtVerify(token, key, { issuer: "https://issuer.example" })
    if (payload.role !== "group1") throw new Error("no role")
  }
  const { method, url, headers } = request
  const outgoing = http.request(
    { agent, host: "127.0.0.1", port: Number(upstream), method, path: url, headers },
    answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    },
  )
  outgoing.on("error", () => response.destroy())
  request.pipe(outgoing)
}

const server = kind.includes("mtls")
  ? https.createServer(
      { cert: file("server.pem"), key: file("server.key"), ca: file("ca.pem"), requestCert: true },
      handle,
    )
  : http.createServer(handle)
server.listen(Number(port), "127.0.0.1", () => console.log("ready"))
