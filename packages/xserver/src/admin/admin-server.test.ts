// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process"
import { once } from "node:events"
import { request } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest"
import { adminServer } from "./admin-server.js"

let level = "info"
const server = adminServer({
  configDump: () => ({ phase: "enforcing" }),
  decisions: { list: async () => [], find: async () => undefined },
  logLevel: () => level,
  setLogLevel: wanted => {
    level = wanted
  },
})
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})
beforeEach(() => {
  level = "info"
})
afterAll(() => {
  server.close()
})

function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> {
  const { port } = server.address() as AddressInfo // a TCP server has an AddressInfo
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, headers, agent: false }
    request(options, response => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end()
  })
}

test.each(["//", "http://[", "//[::1"])("responds to the target %s instead of crashing", async target => {
  expect(await ask(target)).toBe(400)
  expect(await ask(target, { host: "evil.example" })).toBe(403)
  expect(await ask("/config_dump")).toBe(200)
})

it.runIf(process.platform === "linux" && process.geteuid?.() === 0)(
  "rejects other users of the machine (needs root)",
  async () => {
    const { port } = server.address() as AddressInfo // a TCP server has an AddressInfo
    const program = `fetch("http://127.0.0.1:${port}/config_dump").then(answer => console.log(answer.status))`
    const statusFor = async (uid: number): Promise<string> => {
      const child = spawn(process.execPath, ["-e", program], { uid, stdio: ["ignore", "pipe", "inherit"] })
      let text = ""
      child.stdout.on("data", piece => {
        text += piece
      })
      await once(child, "close")
      return text.trim()
    }
    expect(await statusFor(54_321)).toBe("403")
    expect(await statusFor(0)).toBe("200")
  },
)

it("changes the log level for the operator", async () => {
  expect(await ask("/loglevel?level=debug", {}, "POST")).toBe(200)
  expect(level).toBe("debug")
})

test.each<Record<string, string>>([
  { origin: "https://evil.example" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
])("rejects requests from a browser page: %o", async headers => {
  expect(await ask("/loglevel?level=silent", headers, "POST")).toBe(403)
  expect(level).toBe("info")
})
