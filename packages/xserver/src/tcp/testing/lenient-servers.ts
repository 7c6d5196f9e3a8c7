// SPDX-License-Identifier: Apache-2.0
// Applications that parse HTTP more leniently than they should: Node's server with its insecure parser, and Python's
// with every method. Each reports its requests, and whether the proxy's codec forwarded them.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { createInterface } from "node:readline"
import { eventually } from "@merlon/wire/testing"

export interface LenientServer {
  readonly port: number
  /** Requests that bypassed the policies: the proxy's codec marks those it forwards. */
  unjudged(): readonly string[]
  /** Number of all requests. */
  count(): number
  /** Resolves when everything that was sent before has been read. */
  settled(): Promise<void>
  stop(): Promise<void>
}

export async function lenientNode(): Promise<LenientServer> {
  const seen: { readonly target: string; readonly judged: boolean }[] = []
  const server = createServer({ insecureHTTPParser: true, requireHostHeader: false }, (request, reply) => {
    seen.push({ target: `${request.method} ${request.url}`, judged: "x-forwarded-proto" in request.headers })
    request.resume()
    reply.end("ok")
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    port,
    unjudged: () => seen.filter(({ judged }) => !judged).map(({ target }) => target),
    count: () => seen.length,
    // In the same process, everything written before has been read after a few turns of the event loop.
    settled: async () => {
      for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setImmediate(resolve))
    },
    stop: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const PYTHON = `
import sys, json
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def answer(self):
        headers = getattr(self, "headers", None)
        judged = headers is not None and "x-forwarded-proto" in headers
        print(json.dumps({"target": self.command + " " + self.path, "judged": judged}), flush=True)
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)
    def log_message(self, *args):
        pass
class Server(HTTPServer):
    def handle_error(self, request, address):
        pass
server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
`

export async function lenientPython(): Promise<LenientServer> {
  const child = spawn("python3", ["-c", PYTHON], { stdio: ["ignore", "pipe", "inherit"] })
  const lines = createInterface(child.stdout)
  const seen: { readonly target: string; readonly judged: boolean }[] = []
  const port = Number((await once(lines, "line"))[0])
  lines.on("line", line => seen.push(JSON.parse(line)))
  const own = () => seen.filter(({ target }) => !target.includes("/settled/"))
  let turns = 0
  return {
    port,
    unjudged: () =>
      own()
        .filter(({ judged }) => !judged)
        .map(({ target }) => target),
    count: () => own().length,
    // It serves one connection after the other, so everything sent before this request has been read before it.
    settled: async () => {
      const target = `GET /settled/${++turns}`
      const socket = connect(port, "127.0.0.1").on("error", () => undefined)
      socket.resume()
      socket.write(`${target} HTTP/1.0\r\n\r\n`)
      await eventually(() => seen.some(one => one.target === target), {
        what: `the server has read ${target}`,
        state: () => JSON.stringify(seen),
        change: signal => once(lines, "line", { signal }),
      })
    },
    stop: async () => {
      const exit = once(child, "exit")
      child.kill("SIGKILL")
      await exit
    },
  }
}
