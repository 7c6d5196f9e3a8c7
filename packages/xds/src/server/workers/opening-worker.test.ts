// SPDX-License-Identifier: Apache-2.0
// What a process that holds connections is told while it begins to listen, and what becomes of one that cannot.

import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type PeerCertificate } from "node:tls"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { bundled } from "../../testing/bundled.js"
import { serverRig } from "../../testing/server-rig.js"
import { SERVER_NAME, TestAuthority, type TestCredentials } from "../../testing/test-authority.js"
import { DEFAULT_SERVER_LIMITS } from "../limits.js"
import type { Credentials } from "../listener.js"
import { HELLO, type News, type Order, type Sent } from "./messages.js"
import { STREAM_WORKER } from "./stream-workers.js"

const PROGRAM = 'import { MeshServer } from "../mesh-server.ts"; await MeshServer.work()'
const folder = mkdtempSync(join(tmpdir(), "merlon-opening-"))
const exec = join(folder, "worker.mjs")
const closing: (() => unknown)[] = []

beforeAll(() => writeFileSync(exec, bundled(PROGRAM, import.meta.dirname)))
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** As soon as a worker says so. */
async function heard(worker: ChildProcess, isThat: (message: Sent<News>) => boolean): Promise<void> {
  for (;;) {
    const [message] = await once(worker, "message")
    if (isThat(message)) return
  }
}

it("shows the certificate that it was told of while it began to listen", async () => {
  const authority = new TestAuthority()
  const [before, after] = [authority.server(), authority.server()]
  const told = ({ chain, privateKey }: TestCredentials): Credentials => ({
    certificateChain: chain,
    privateKey,
    clientTrustBundle: authority.bundle,
  })
  const worker = fork(exec, { env: { ...process.env, [STREAM_WORKER]: "1" }, execArgv: [], serialization: "advanced" })
  closing.push(() => worker.kill("SIGKILL"))
  await heard(worker, message => message === HELLO)
  const port = await freePort()
  const items: readonly Order[] = [
    { order: "open", host: "127.0.0.1", port, credentials: told(before), limits: DEFAULT_SERVER_LIMITS },
    { order: "swap", credentials: told(after) },
  ]
  worker.send({ items })
  await heard(worker, message => typeof message === "object" && message.items.some(({ news }) => news === "opened"))
  const socket = connect({
    port,
    host: "127.0.0.1",
    ca: authority.bundle,
    servername: SERVER_NAME,
    ALPNProtocols: ["h2"],
  })
  closing.push(() => socket.destroy())
  await once(socket, "secureConnect")
  const shown: PeerCertificate = socket.getPeerCertificate()
  expect(shown.serialNumber.replace(/^0+/, "")).toBe(after.serial)
})

it("is tried again for as long as another has its port", async () => {
  const port = await freePort()
  const rig = await serverRig({ port, workers: { count: 1, exec, execArgv: [] } })
  closing.push(() => rig.server.close())
  const children = `/proc/${process.pid}/task/${process.pid}/children`
  const [pid = 0] = readFileSync(children, "utf8").trim().split(/\s+/).map(Number)
  process.kill(pid, "SIGKILL")
  const said = async (words: string, times = 1): Promise<void> => {
    while (rig.logged.filter(({ message }) => message.includes(words)).length < times)
      await new Promise(resolve => setTimeout(resolve, 10))
  }
  await said("a process for streams has ended")
  const other = createServer().listen(port, "127.0.0.1")
  closing.push(() => other.close())
  await once(other, "listening")
  await said("could not be replaced yet")
  other.close()
  await said("was replaced")
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}
