// SPDX-License-Identifier: Apache-2.0

import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls"
import { copyOf, OutputBuffer, openWire, type Wire } from "@merlon/wire"
import { afterEach, describe, expect, it } from "vitest"
import { Authority, GOOD_ID, OWN_ID } from "../accept/testing/certificates.js"

interface Told {
  readonly wire: Wire
  readonly bytes: Buffer[]
  ends: number
  closed: boolean
}

const open: { close(): void }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

function notify(socket: Socket): Told {
  const received = {
    bytes: [] as Buffer[],
    ends: 0,
    closed: false,
    wire: openWire(socket, {
      onBytes: (bytes, length) => received.bytes.push(copyOf(bytes, 0, length)),
      onEnd: () => {
        received.ends++
      },
      onDrain: () => undefined,
      onClose: () => {
        received.closed = true
      },
    }),
  }
  return received
}

interface Connected {
  readonly client: Socket
  readonly server: Socket
  /** Resets the underlying connection. */
  readonly reset: () => void
}

async function clear(): Promise<Connected> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
  open.push(listener)
  await once(listener, "listening")
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1")
  const [server] = (await once(listener, "connection")) as [Socket]
  open.push({ close: () => client.destroy() }, { close: () => server.destroy() })
  return { client, server, reset: () => client.resetAndDestroy() }
}

async function encrypted(): Promise<Connected> {
  const authority = new Authority()
  const [own, theirs] = [authority.issue({ uris: [OWN_ID] }), authority.issue({ uris: [GOOD_ID] })]
  const ca = authority.certificate
  const tls = createTlsServer({ cert: own.certificate, key: own.privateKey, ca, allowHalfOpen: true })
  // A socket that is wrapped in TLS can no longer be reset, so the client connects through a relay that can.
  const relay = await clear()
  const { client: raw, server, reset } = await clear()
  tls.emit("connection", server)
  relay.server.pipe(raw).pipe(relay.server)
  const client = connectTls({
    socket: relay.client,
    cert: theirs.certificate,
    key: theirs.privateKey,
    ca,
    checkServerIdentity: () => undefined,
  })
  client.on("error", () => undefined)
  const [secured] = (await once(tls, "secureConnection")) as [TLSSocket]
  return { client, server: secured, reset }
}

describe.each([
  ["in cleartext", clear],
  ["under TLS", encrypted],
])("a wire %s", (_, connected) => {
  it("reads into the shared buffer", async () => {
    const { server } = await connected()
    expect(notify(server).wire.shared).toBe(true)
  })

  it("delivers nothing before it is resumed, and everything after", async () => {
    const { client, server } = await connected()
    const received = notify(server)
    client.write("early")
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(received.bytes).toEqual([])
    server.resume()
    await expect.poll(() => Buffer.concat(received.bytes).toString()).toBe("early")
    server.pause()
    client.write(" and late")
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(Buffer.concat(received.bytes).toString()).toBe("early")
    server.resume()
    await expect.poll(() => Buffer.concat(received.bytes).toString()).toBe("early and late")
  })

  it("delivers any number of bytes as they were sent", async () => {
    const { client, server } = await connected()
    const received = notify(server)
    server.resume()
    const sent = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * 31 + (index >> 8)) & 255))
    client.end(sent)
    await expect.poll(() => received.ends).toBe(1)
    expect(Buffer.concat(received.bytes).equals(sent)).toBe(true)
  })

  it("uses events for bytes that were already read", async () => {
    const { client, server } = await connected()
    server.once("readable", () => undefined)
    client.write("before")
    await expect.poll(() => server.readableLength).toBe(6)
    const received = notify(server)
    expect(received.wire.shared).toBe(false)
    server.removeAllListeners("readable")
    server.resume()
    await expect.poll(() => Buffer.concat(received.bytes).toString()).toBe("before")
  })

  it("still writes after the peer has ended, and reports the end once", async () => {
    const { client, server } = await connected()
    const answers: Buffer[] = []
    client.on("data", chunk => answers.push(chunk))
    const received = notify(server)
    server.resume()
    client.end("last words")
    await expect.poll(() => received.ends).toBe(1)
    server.end("answer")
    await expect.poll(() => Buffer.concat(answers).toString()).toBe("answer")
    await expect.poll(() => received.closed).toBe(true)
    expect(received.ends).toBe(1)
  })

  it("reports a connection that broke", async () => {
    const { client, server, reset } = await connected()
    const received = notify(server)
    server.resume()
    client.write("here")
    await expect.poll(() => received.bytes.length).toBe(1)
    reset()
    await expect.poll(() => received.closed).toBe(true)
  })
})

it("uses events if the handle does not accept the shared buffer", async () => {
  const { client, server } = await clear()
  Reflect.set(Reflect.get(server, "_handle"), "useUserBuffer", () => -22)
  const received = notify(server)
  expect(received.wire.shared).toBe(false)
  server.resume()
  client.write("its own")
  await expect.poll(() => Buffer.concat(received.bytes).toString()).toBe("its own")
})

it("is not read in the middle of a read under TLS, whatever is written there", async () => {
  const { client, server } = await encrypted()
  const output = new OutputBuffer(server)
  const content = Buffer.alloc(20_000)
  let [reading, read] = [false, 0]
  openWire(server, {
    onBytes: (bytes, length) => {
      expect(reading).toBe(false)
      reading = true
      const before = copyOf(bytes, 0, length)
      output.bytes(bytes, 0, 0)
      output.flush()
      output.text("text")
      output.bytes(content, 0, content.length)
      output.flush()
      expect(before.equals(copyOf(bytes, 0, length))).toBe(true)
      read += length
      reading = false
    },
    onEnd: () => undefined,
    onDrain: () => undefined,
    onClose: () => undefined,
  })
  client.resume()
  server.resume()
  // Several records, so that one is waiting while another is read.
  client.write(Buffer.from(Array.from({ length: 60_000 }, (_, index) => index >> 8)))
  await expect.poll(() => read).toBe(60_000)
})
