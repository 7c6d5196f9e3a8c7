// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { type BorrowedBytes, copyOf, openWire } from "./borrowed-reads.js"

const open: { close(): void }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

async function pair(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  const [accepted]: Socket[] = await once(server, "connection")
  if (accepted === undefined) throw new Error("no connection")
  open.push(server, { close: () => client.destroy() }, { close: () => accepted.destroy() })
  return [client, accepted]
}

describe("borrowed bytes", () => {
  it("are overwritten once the callback has returned", async () => {
    const [client, accepted] = await pair()
    const { kept, copied, shared } = await new Promise<{ kept: BorrowedBytes; copied: Buffer; shared: boolean }>(
      resolve => {
        const wire = openWire(accepted, {
          onBytes: (bytes, length) => {
            const copied = copyOf(bytes, 0, length)
            setImmediate(() => resolve({ kept: bytes, copied, shared: wire.shared }))
          },
          onEnd: () => undefined,
          onDrain: () => undefined,
          onClose: () => undefined,
        })
        accepted.resume()
        client.write("secret")
      },
    )
    expect(shared).toBe(true)
    expect(copied.toString()).toBe("secret")
    expect(Array.from({ length: 6 }, (_, at) => kept[at])).toEqual(Array(6).fill(0xfe))
  })

  it("are overwritten even if the callback throws", async () => {
    const [client, accepted] = await pair()
    let kept: BorrowedBytes | undefined
    const thrown = new Promise(resolve => process.prependOnceListener("uncaughtException", resolve))
    const others = process.listeners("uncaughtException").slice(1)
    for (const other of others) process.off("uncaughtException", other)
    openWire(accepted, {
      onBytes: bytes => {
        kept = bytes
        throw new Error("broken")
      },
      onEnd: () => undefined,
      onDrain: () => undefined,
      onClose: () => undefined,
    })
    accepted.resume()
    client.write("secret")
    await thrown
    for (const other of others) process.on("uncaughtException", other)
    expect(kept?.[0]).toBe(0xfe)
  })

  it("are not a Buffer, and have no views", () => {
    const bytes: BorrowedBytes = Buffer.from("ab")
    // @ts-expect-error what is borrowed must be copied to be stored
    const own: Buffer = bytes
    // @ts-expect-error a view would outlive the callback
    expect(bytes.subarray(0, 1)).toBeDefined()
    expect(own).toBe(bytes)
    expect(copyOf(bytes, 1, 2)).toEqual(Buffer.from("b"))
  })
})
