// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { ApplicationProbe } from "@merlon/xds/member"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ApplicationWatch } from "./application-watch.js"

const LIMIT = { timeout: 90_000, interval: 20 }
const TIMES = { periodSeconds: 1, timeoutSeconds: 2 }
let server: Server
let port: number
let status: number
let watch: ApplicationWatch | undefined
let result: (string | undefined)[]

beforeEach(async () => {
  status = 200
  result = []
  server = createServer((_, reply) => reply.writeHead(status).end())
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  watch?.stop()
  server.closeAllConnections()
  server.close()
})

function watching(probe: ApplicationProbe): ApplicationWatch {
  watch = new ApplicationWatch(probe, "127.0.0.1", why => result.push(why))
  watch.start()
  return watch
}

describe("an application", () => {
  it("is not ready before the first probe", () => {
    expect(watching({ kind: "tcp", port, ...TIMES }).notReady).toContain("not been probed")
  })

  it("is ready when it answers, not ready after two bad answers, and ready again", async () => {
    const seen = watching({ kind: "http", port, path: "/health", ...TIMES })
    await vi.waitFor(() => expect(seen.notReady).toBeUndefined(), LIMIT)
    status = 503
    await vi.waitFor(() => expect(seen.notReady).toBe("its application answers /health with 503"), LIMIT)
    status = 204
    await vi.waitFor(() => expect(seen.notReady).toBeUndefined(), LIMIT)
    expect(result).toEqual([undefined, "its application answers /health with 503", undefined])
  })

  it("does not answer if nothing listens", async () => {
    await new Promise(resolve => server.close(resolve))
    const seen = watching({ kind: "tcp", port, ...TIMES })
    await vi.waitFor(() => expect(seen.notReady).toBe(`its application does not respond at 127.0.0.1:${port}`), LIMIT)
    expect(result).toEqual([])
  })

  it.each([
    [["true"], undefined],
    [["false"], "its probe `false` fails: exit code 1"],
    [["/nowhere/at-all"], "its probe `/nowhere/at-all` fails: exit code ENOENT"],
    [["sleep", "60"], "its probe `sleep` fails: it took too long"],
  ])("is as ready as the command %j reports", async (command, expected) => {
    const seen = watching({ kind: "command", command, periodSeconds: 1, timeoutSeconds: 1 })
    await vi.waitFor(() => expect(seen.notReady).toBe(expected), LIMIT)
  })
})
