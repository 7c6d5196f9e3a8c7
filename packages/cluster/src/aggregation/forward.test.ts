// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { request as ask, createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "vitest"
import { forward } from "./forward.js"

it("sends no request for a client that left during the lookup", async () => {
  let found = (): void => {}
  const target = new Promise<void>(resolve => {
    found = resolve
  })
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo // the server listens on a port
  const sent = ask({ port, host: "127.0.0.1", path: "/apis/answers.example/v1/calls?watch=1" })
  sent.on("error", () => undefined).end()
  const [request, response] = (await once(server, "request")) as [unknown, ServerResponse]
  const forwarded = forward({ request, response, method: "GET" } as never, {} as never, {
    backends: { target: () => target } as never, // only `target` is called
    identity: { headers: () => expect.unreachable("a backend is asked") } as never, // called first by a request
  })
  sent.destroy()
  await once(response, "close")
  found()
  await forwarded
  server.close()
})
