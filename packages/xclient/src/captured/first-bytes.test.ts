// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { afterEach, expect, it } from "vitest"
import { readFirstBytes } from "./first-bytes.js"

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A connection as the proxy accepts it, paused, and the program at its other end. */
async function connection(): Promise<{ readonly accepted: Socket; readonly program: Socket }> {
  const server = createServer({ pauseOnConnect: true })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const program = connect((server.address() as AddressInfo).port, "127.0.0.1") // a TCP server has an AddressInfo
  const [accepted]: Socket[] = await once(server, "connection")
  if (accepted === undefined) throw new Error("no connection")
  closing.push(
    () => server.close(),
    () => program.destroy(),
    () => accepted.destroy(),
  )
  return { accepted, program }
}

it("carries the connection of a silent program as bytes", async () => {
  const { accepted } = await connection()
  expect(await readFirstBytes(accepted, 1)).toEqual({ protocol: "tcp", head: Buffer.alloc(0) })
})

it("reads bytes that arrived while the process was suspended", async () => {
  const { accepted, program } = await connection()
  const text = "GET / HTTP/1.1\r\n"
  await new Promise(resolve => program.write(text, resolve))
  const reading = readFirstBytes(accepted, 1)
  const until = performance.now() + 20
  while (performance.now() < until);
  expect(await reading).toEqual({ protocol: "http1", head: Buffer.from(text) })
})
