// SPDX-License-Identifier: Apache-2.0
import { connect as connectTcp } from "node:net"
import { connect, type TLSSocket } from "node:tls"
import { afterEach, expect, it, vi } from "vitest"
import { SILENT } from "../runtime/log.js"
import { IDENTITY, SERVER_NAME, TestAuthority, type TestCredentials } from "../testing/test-authority.js"
import { DEFAULT_SERVER_LIMITS } from "./limits.js"
import { type Connection, Listener } from "./listener.js"

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function rig() {
  const authority = new TestAuthority()
  const { chain, privateKey } = authority.server()
  const accepted: Connection[] = []
  const asked = vi.fn()
  const listener = await Listener.listen({
    host: "0.0.0.0",
    port: 0,
    credentials: () => {
      asked()
      return { certificateChain: chain, privateKey, clientTrustBundle: authority.bundle }
    },
    limits: DEFAULT_SERVER_LIMITS,
    log: SILENT,
    accept: connection => void accepted.push(connection),
  })
  closing.push(() => listener.destroy())
  const open = (
    host: string,
    localPort: number | undefined,
    credentials?: TestCredentials,
    ALPNProtocols: string[] = ["h2"],
  ): TLSSocket => {
    const from = { localAddress: "127.0.0.1", ...(localPort === undefined ? {} : { localPort }) }
    const socket = connect({
      socket: connectTcp({ host, port: listener.port, ...from }),
      servername: SERVER_NAME,
      ca: authority.bundle,
      ALPNProtocols,
      ...(credentials === undefined ? {} : { cert: credentials.chain, key: credentials.privateKey }),
    })
    socket.on("error", () => undefined)
    closing.unshift(() => socket.destroy())
    return socket
  }
  return { authority, listener, accepted, asked, open }
}

it("trusts no certificate that its authority did not sign, whatever its contents", async () => {
  const { authority, accepted, open } = await rig()
  const certificateOf = async (credentials: TestCredentials) => {
    const before = accepted.length
    open("127.0.0.1", undefined, credentials)
    await expect.poll(() => accepted.length).toBe(before + 1)
    return accepted.at(-1)?.certificate
  }
  expect((await certificateOf(authority.workload()))?.id.uri).toBe(IDENTITY)
  expect(await certificateOf(new TestAuthority().workload())).toBeUndefined()
})

it("never confuses certificates of two connections from the same address and port", async () => {
  const { authority, accepted, open } = await rig()
  const stranger = open("127.0.0.1", undefined)
  await expect.poll(() => accepted.length).toBe(1)
  const { localPort } = stranger
  // A workload on the same machine that uses the same port, by chance or on purpose, to connect to another of our
  // addresses.
  open("127.0.0.2", localPort, authority.workload())
  await expect.poll(() => accepted.length).toBe(2)
  expect(accepted.map(({ socket }) => socket.remotePort)).toEqual([localPort, localPort])
  expect(accepted.map(({ certificate }) => certificate?.id.uri)).toEqual([undefined, IDENTITY])
})

it("accepts only clients that offer HTTP/2", async () => {
  const { accepted, open } = await rig()
  for (const offered of [["http/1.1"], []]) {
    const rejected = open("127.0.0.1", undefined, undefined, offered)
    await new Promise(resolve => rejected.once("close", resolve))
  }
  open("127.0.0.1", undefined, undefined, ["http/1.1", "h2"])
  await expect.poll(() => accepted.length).toBe(1)
  expect(accepted[0]?.socket.alpnProtocol).toBe("h2")
  // A copy per connection would keep a page of Node's buffers alive for each of thousands.
  expect(Reflect.get(accepted[0]?.socket ?? {}, "_tlsOptions")).not.toHaveProperty("ALPNProtocols", expect.anything())
})

it("reads its credentials when they change, not for each connection", async () => {
  const { authority, listener, accepted, asked, open } = await rig()
  open("127.0.0.1", undefined, authority.workload())
  await expect.poll(() => accepted.length).toBe(1)
  expect(asked).toHaveBeenCalledTimes(1)
  listener.swap()
  open("127.0.0.1", undefined, authority.workload())
  await expect.poll(() => accepted.length).toBe(2)
  expect(asked).toHaveBeenCalledTimes(2)
})
