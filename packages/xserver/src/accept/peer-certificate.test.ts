// SPDX-License-Identifier: Apache-2.0

import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer, type TLSSocket } from "node:tls"
import { capturePeerCertificate } from "@merlon/xds/runtime"
import { expect, it } from "vitest"
import { peerCertificate, readCertificate } from "./peer-certificate.js"
import { Authority, GOOD_ID, OWN_ID } from "./testing/certificates.js"

const authority = new Authority()
const own = authority.issue({ uris: [OWN_ID] })

async function accepted(client: { readonly certificate: string; readonly privateKey: string } | undefined) {
  const server = createServer({
    cert: own.certificate,
    key: own.privateKey,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNCallback(this: unknown, { protocols: [first] }) {
      capturePeerCertificate(this)
      return first
    },
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const caller = connect({
    port: (server.address() as AddressInfo).port, // TCP servers have an AddressInfo
    host: "127.0.0.1",
    ca: authority.certificate,
    cert: client?.certificate,
    key: client?.privateKey,
    ALPNProtocols: ["h2"],
    checkServerIdentity: () => undefined,
  })
  const [socket] = (await once(server, "secureConnection")) as [TLSSocket]
  const end = (): void => {
    caller.destroy()
    socket.destroy()
    server.close()
  }
  return { socket, end }
}

it.each([
  ["with one name", { uris: [GOOD_ID], dns: ["a.example"] }],
  ["with two identities", { uris: [GOOD_ID, OWN_ID] }],
  ["without a name", { uris: [] }],
])("reports the contents of a certificate %s, the first time and later", async (_, options) => {
  const issued = authority.issue(options)
  const facts = readCertificate(new X509Certificate(issued.certificate))
  const issuer = new X509Certificate(authority.certificate)
  for (let time = 0; time < 2; time++) {
    const { socket, end } = await accepted(issued)
    const { issuer: shown, ...received } = peerCertificate(socket) ?? {}
    expect({ ...received, issuer: undefined }).toEqual(facts)
    // The caller's OpenSSL completes the chain with the issuer that it finds.
    expect(shown?.fingerprint256).toBe(issuer.fingerprint256)
    end()
  }
})

it("does not confuse two certificates with the same name", async () => {
  const [first, second] = [authority.issue({ uris: [GOOD_ID] }), authority.issue({ uris: [GOOD_ID] })]
  const serials: (string | undefined)[] = []
  for (const issued of [first, second, first]) {
    const { socket, end } = await accepted(issued)
    serials.push(peerCertificate(socket)?.serial)
    end()
  }
  expect(serials).toEqual([first.serial, second.serial, first.serial])
})

it("finds no certificate if the peer sent none, or has disconnected", async () => {
  const { socket, end } = await accepted(undefined)
  expect(peerCertificate(socket)).toBeUndefined()
  end()
  const gone = await accepted(authority.issue())
  gone.end()
  expect(peerCertificate(gone.socket)).toBeUndefined()
})
