// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { connect, createServer, type Server } from "node:tls"
import { readCertificates } from "@merlon/identity"
import { afterEach, expect, it } from "vitest"
import { IDENTITY, SERVER_NAME, TestAuthority, type TestCredentials } from "../testing/test-authority.js"
import { type PeerCertificate, peerCertificate, trustIn } from "./peer-certificate.js"

const closing: Server[] = []
afterEach(() => {
  for (const server of closing.splice(0)) server.close()
})

/** The client's certificate as read by a server that trusts these authorities. */
async function shown(
  authorities: readonly TestAuthority[],
  own: TestCredentials,
): Promise<PeerCertificate | undefined> {
  const serving = authorities[0]?.server()
  const ca = authorities.map(({ bundle }) => bundle)
  const server = createServer({ cert: serving?.chain, key: serving?.privateKey, ca, requestCert: true })
  closing.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const seen = once(server, "secureConnection")
  const client = connect({ port, host: "127.0.0.1", servername: SERVER_NAME, ca, cert: own.chain, key: own.privateKey })
  client.on("error", () => undefined)
  const [socket] = await seen
  const certificate = peerCertificate(socket, ca.join(""))
  client.destroy()
  socket.destroy()
  return certificate
}

function rootOf({ bundle }: TestAuthority): string | undefined {
  const read = readCertificates(bundle)
  return read.ok ? read.certificates[0]?.fingerprint : undefined
}

it("finds the root of a certificate, the first time and again", async () => {
  const authority = new TestAuthority()
  for (const own of [authority.workload(), authority.workload(), authority.workload()]) {
    const certificate = await shown([authority], own)
    expect(certificate?.id.uri).toBe(IDENTITY)
    expect(certificate?.serial).toBe(own.serial)
    expect(certificate?.root).toBe(rootOf(authority))
    expect(certificate?.chain.replaceAll("\n", "")).toBe((own.chain + authority.bundle).replaceAll("\n", ""))
  }
})

it("distinguishes roots with the same name, in any order", async () => {
  const [one, other] = [new TestAuthority(), new TestAuthority()]
  for (const authority of [one, other, one, other]) {
    const certificate = await shown([one, other], authority.workload())
    expect(certificate?.root).toBe(rootOf(authority))
    expect(certificate && trustIn(authority.bundle)(certificate)).toBe(true)
    expect(certificate && trustIn((authority === one ? other : one).bundle)(certificate)).toBe(false)
  }
})
