// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, it } from "vitest"
import { ready, waitCommand } from "./wait.js"

/** A proxy that answers each readiness probe with the next of these statuses, and repeats the last one. */
const servers: ReturnType<typeof createServer>[] = []
async function proxy(...statuses: readonly number[]): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    response.statusCode = statuses[Math.min(asked.length, statuses.length - 1)] ?? 500
    asked.push(request.url ?? "")
    response.end("no configuration yet\n")
  })
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { port: (server.address() as AddressInfo).port, asked } // a TCP server
}
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

it("returns only when the proxy is ready", async () => {
  const { port, asked } = await proxy(503, 503, 200)
  await ready({ host: "127.0.0.1", port }, 60_000)
  expect(asked).toEqual(["/healthz/ready", "/healthz/ready", "/healthz/ready"])
})

it("waits for a proxy that does not listen yet", async () => {
  const { port } = await proxy(200)
  const [server] = servers.splice(0)
  server?.close()
  const waiting = ready({ host: "127.0.0.1", port }, 60_000)
  const late = createServer((_, response) => response.end("ok"))
  servers.push(late)
  setTimeout(() => late.listen(port, "127.0.0.1"), 300)
  await waiting
})

it("fails with the reason after the timeout", async () => {
  const { port } = await proxy(503)
  const flags = ["--health", `127.0.0.1:${port}`, "--timeout", "1ms"]
  await expect(waitCommand().parseAsync(flags, { from: "user" })).rejects.toThrow(
    `the proxy is not ready after 0.001 s: http://127.0.0.1:${port}/healthz/ready answers 503 no configuration yet`,
  )
  servers.splice(0)[0]?.close()
  await expect(ready({ host: "127.0.0.1", port }, 0)).rejects.toThrow(/does not answer: .*ECONNREFUSED/)
})
