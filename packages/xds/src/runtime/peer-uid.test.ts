// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { isOwnUser } from "./peer-uid.js"

const OTHER_UID = 54_321
const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function listening(host: string): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer().listen(0, host)
  closing.push(() => server.close())
  await once(server, "listening")
  return { server, port: (server.address() as AddressInfo).port } // TCP servers have this form
}

async function accepted(server: Server): Promise<Socket> {
  const [socket]: Socket[] = await once(server, "connection")
  if (socket === undefined) throw new Error("no connection")
  closing.push(() => socket.destroy())
  return socket
}

describe("the user of the peer on a loopback connection", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["::", "::ffff:127.0.0.1"],
    ["::", "127.0.0.1"],
  ])("on %s, called as %s, is our own", async (host, called) => {
    const { server, port } = await listening(host)
    const client = connect({ host: called, port })
    closing.push(() => client.destroy())
    expect(await isOwnUser(await accepted(server))).toBe(true)
  })

  it("is unknown if the connection is not in the table", async () => {
    const ends = { remoteAddress: "127.0.0.1", remotePort: 1, localAddress: "127.0.0.1", localPort: 1 }
    expect(await isOwnUser(ends)).toBe(process.platform !== "linux")
  })

  it.runIf(process.platform === "linux" && process.geteuid?.() === 0)(
    "is another user if another user calls (needs root)",
    async () => {
      const { server, port } = await listening("127.0.0.1")
      const program = `require("net").connect(${port}, "127.0.0.1").on("error", () => {}); setInterval(() => {}, 1000)`
      const child = spawn(process.execPath, ["-e", program], { uid: OTHER_UID, stdio: "ignore" })
      closing.push(() => child.kill())
      expect(await isOwnUser(await accepted(server))).toBe(false)
    },
  )

  it("is unknown if the caller has disconnected after its request", { tags: ["needs/linux"] }, async () => {
    const { server, port } = await listening("127.0.0.1")
    const program = `const s = require("net").connect(${port}, "127.0.0.1", () => s.write("x", () => process.exit()))`
    const child = spawn(process.execPath, ["-e", program], { stdio: "ignore" })
    const [socket] = await Promise.all([accepted(server), once(child, "exit")])
    expect(await isOwnUser(socket)).toBe(false)
  })
})
