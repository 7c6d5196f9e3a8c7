// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer } from "node:tls"
import { afterEach, describe, expect, it } from "vitest"
import { settle } from "../observe/testing/manual-clock.js"
import { SETTLE_MS } from "./authority.js"
import { LOOK_MS } from "./serving-certificate.js"
import { NAMES, Stage } from "./testing/authority-stage.js"

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Connects like a proxy that trusts this bundle; throws if it would reject the control plane. */
async function reach(port: number, ca: string): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca })
  await once(socket, "secureConnect")
  socket.destroy()
}

describe("a listener of the control plane", () => {
  it("is trusted by clients of the old root until it retires", async () => {
    const stage = new Stage()
    // TLS uses the real time.
    stage.clock.setWall(Date.now())
    const authority = await stage.authority()
    const before = authority.current.bundle
    const old = authority.current.signer
    const serving = authority.serve("xds", ["localhost", "127.0.0.1"])
    const material = () => ({ key: serving.current.privateKey, cert: serving.current.certificateChain })
    const server = createServer(material()).listen(0, "127.0.0.1")
    serving.onChange(() => server.setSecureContext(material()))
    server.on("tlsClientError", () => undefined)
    closers.push(
      () => server.close(),
      () => authority.close(),
    )
    await once(server, "listening")
    const { port } = server.address() as AddressInfo // a TCP server's address
    await reach(port, before)

    authority.rotateWith(stage.ledger)
    await stage.clock.advance(SETTLE_MS)
    stage.annotate({ [NAMES.annotations.rotate]: "1" })
    await stage.clock.advance(2 * SETTLE_MS)
    stage.clock.setWall(Date.now())
    expect(authority.facts.phase).toBe("sign")
    await reach(port, before)
    await reach(port, authority.current.bundle)

    stage.annotate({ [NAMES.annotations.retire]: old })
    await settle()
    expect(authority.facts.phase).toBe("retire")
    await reach(port, authority.current.bundle)
    await expect(reach(port, before)).rejects.toThrow()
  })

  it.each([
    ["ahead by a year", 365 * 86_400_000],
    ["back by a year", -365 * 86_400_000],
  ])("renews its certificate soon after its clock, which was %s, is corrected", async (_, off) => {
    const stage = new Stage()
    const right = Date.now()
    stage.clock.setWall(right)
    const authority = await stage.authority()
    closers.push(() => authority.close())
    stage.clock.setWall(right + off)
    const serving = authority.serve("xds", ["localhost"])
    const isGood = () => {
      const { validFrom, validTo } = new X509Certificate(serving.current.certificateChain)
      return Date.parse(validFrom) <= right && right < Date.parse(validTo)
    }
    expect(isGood()).toBe(false)
    stage.clock.setWall(right)
    await stage.clock.advance(LOOK_MS)
    expect(isGood()).toBe(true)
  })
})
