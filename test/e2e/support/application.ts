// SPDX-License-Identifier: Apache-2.0
// The workload behind the proxy: it echoes its requests, so that tests see what the application receives.

import { createHash } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: number
  readonly sha256: string
}

export interface Application {
  readonly port: number
  readonly requests: Seen[]
  close(): Promise<void>
}

/**
 * `/bytes/N` returns N bytes, and `/echo` echoes content as it arrives; every other path returns the request as JSON.
 */
export async function startApplication(): Promise<Application> {
  const requests: Seen[] = []
  const server = createServer((request, response) => {
    if (request.url === "/echo") {
      request.pipe(response)
      return
    }
    const hash = createHash("sha256")
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    request.on("end", () => {
      const { method = "", url = "", headers } = request
      const seen = { method, url, headers, bytes, sha256: hash.digest("hex") }
      requests.push(seen)
      const size = /^\/bytes\/(\d+)/.exec(url)?.[1]
      if (size !== undefined) {
        response.end(Buffer.alloc(Number(size), "0123456789"))
        return
      }
      const status = Number(/^\/status\/(\d+)/.exec(url)?.[1] ?? 200)
      const delay = Number(/^\/delay\/(\d+)/.exec(url)?.[1] ?? 0)
      setTimeout(() => {
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify(seen))
      }, delay)
    })
  })
  // On a busy machine, a server with a timeout might close an idle connection that a request is just about to use.
  server.keepAliveTimeout = 0
  await listening(server)
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listening(server: Server): Promise<void> {
  return new Promise(resolve => server.listen(0, "127.0.0.1", () => resolve()))
}
