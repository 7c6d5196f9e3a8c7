// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { lookAtPort } from "./free-port.js"
import { IngressPort } from "./ingress-port.js"

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function server(handle: (socket: Socket) => void): Promise<number> {
  const listening: Server = createServer({ allowHalfOpen: true }, handle)
  listening.listen(0, "127.0.0.1")
  await once(listening, "listening")
  closing.push(() => listening.close())
  return (listening.address() as AddressInfo).port // a TCP server has a port
}

const saying = (text: string) => server(socket => socket.on("error", () => undefined).end(text))

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const { port } = probe.address() as AddressInfo // a TCP server has a port
  probe.close()
  await once(probe, "close")
  return port
}

async function wayTo(...ports: readonly number[]): Promise<number> {
  const ingress = new IngressPort(() => ports.map(port => ({ address: "127.0.0.1", port })))
  const port = await freePort()
  await ingress.listen("127.0.0.1", port)
  closing.push(() => ingress.close())
  return port
}

async function ask(port: number, text = ""): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" })
  socket.end(text)
  let answer = ""
  socket.on("data", piece => {
    answer += piece.toString()
  })
  socket.on("error", () => undefined)
  await once(socket, "close")
  return answer
}

describe("an ingress port", () => {
  it("calls the proxies round robin", async () => {
    const port = await wayTo(await saying("a"), await saying("b"))
    expect([await ask(port), await ask(port), await ask(port)]).toEqual(["a", "b", "a"])
  })

  it("calls the next proxy if one does not answer", async () => {
    const port = await wayTo(await freePort(), await saying("b"))
    expect([await ask(port), await ask(port)]).toEqual(["b", "b"])
  })

  it("closes the connection if no proxy answers, and keeps running", async () => {
    const port = await wayTo(await freePort())
    expect([await ask(port), await ask(port)]).toEqual(["", ""])
    expect(await lookAtPort("127.0.0.1", port)).toBe("taken")
  })

  it("waits for the response after the caller has closed its sending side", async () => {
    const echo = await server(socket => {
      let received = ""
      socket.on("data", piece => {
        received += piece.toString()
      })
      socket.on("end", () => socket.end(`heard ${received.length}`))
    })
    expect(await ask(await wayTo(echo), "x".repeat(300_000))).toBe("heard 300000")
  })

  it("closes the connection to the proxy when its caller disconnects", async () => {
    let gone: Promise<unknown> | undefined
    const target = await server(socket => {
      socket.on("error", () => undefined)
      gone = once(socket.resume(), "end")
      socket.write("hello")
    })
    const caller = connect({ port: await wayTo(target), host: "127.0.0.1" })
    await once(caller, "data")
    caller.resetAndDestroy()
    await gone
    expect(gone).toBeDefined()
  })

  it("closes all its connections when it is closed", async () => {
    const target = await server(socket => socket.write("hello"))
    const ingress = new IngressPort(() => [{ address: "127.0.0.1", port: target }])
    const port = await freePort()
    await ingress.listen("127.0.0.1", port)
    const caller = connect({ port, host: "127.0.0.1" }).on("error", () => undefined)
    await once(caller, "data")
    await Promise.all([ingress.close(), once(caller, "close")])
    expect(await lookAtPort("127.0.0.1", port)).toBe("free")
  })
})
