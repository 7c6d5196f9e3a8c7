// SPDX-License-Identifier: Apache-2.0
// Which responses a caller still gets when its share of unread bytes is used up.

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "vitest"
import { anonymous } from "../auth/authenticate.js"
import { ApiError } from "../meta/status.js"
import { Backlog } from "./backlog.js"
import { Exchange } from "./exchange.js"
import { HeavyWork } from "./heavy-work.js"
import { defaultLimits } from "./limits.js"

const share = { owner: "jane", system: false }

/** Returns the status of a 100 kB response to a caller that already has too many bytes waiting. */
async function answered(method: string): Promise<number> {
  const backlog = new Backlog({ all: 200_000, each: 200_000 })
  const unread = {
    share,
    pending: 150_000,
    drop: () => {
      unread.pending = 0
      backlog.changed(unread)
    },
  }
  backlog.changed(unread)
  const server = createServer((request, response) => {
    const exchange = new Exchange({
      ...{ request, response, method, path: "/", query: new URLSearchParams(), user: anonymous, share, backlog },
      ...{ heavyWork: new HeavyWork(), limits: defaultLimits, now: Date.now },
    })
    try {
      exchange.send(200, { text: "x".repeat(100_000) })
    } catch (error) {
      if (error instanceof ApiError) exchange.fail(error)
    }
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo // the server listens on TCP
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method })
  server.closeAllConnections()
  server.close()
  return status
}

it("rejects a read", async () => expect(await answered("GET")).toBe(429))

it.each(["POST", "PUT", "PATCH", "DELETE"])(
  "sends the response to a %s, which has already taken effect",
  async method => {
    expect(await answered(method)).toBe(200)
  },
)
