// SPDX-License-Identifier: Apache-2.0
// One provider, queried directly: over TLS with good and bad certificates, and by more callers than may wait.

import { once } from "node:events"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
import { createSecureServer } from "node:http2"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo, Server } from "node:net"
import { readProviders } from "@merlon/policy/mesh"
import { parseIp } from "@merlon/policy/request"
import { FieldList } from "@merlon/wire"
import { Deadlines } from "@merlon/wire/http"
import { eventually } from "@merlon/wire/testing"
import { readCheckResult, writeCheck, writeProviderCheck } from "@merlon/xds/authz"
import { afterEach, describe, expect, it } from "vitest"
import { Authority, type Issued } from "../accept/testing/certificates.js"
import { der, sequence } from "../accept/testing/der.js"
import { DEFAULT_LIMITS } from "../limits.js"
import type { ProviderAnswer } from "./answer.js"
import { grpcProtocol } from "./grpc.js"
import { httpProtocol } from "./http.js"
import { ProviderClient } from "./provider-client.js"
import type { ProviderQuestion } from "./question.js"

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close()
})

async function listening(server: Server): Promise<number> {
  const sockets = new Set<{ destroy(): void }>()
  server.on("connection", (socket: { destroy(): void }) => sockets.add(socket))
  server.on("tlsClientError", () => undefined)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port // a TCP server has an AddressInfo
}

function client(provider: object): ProviderClient {
  const [read] = readProviders([{ name: "ext", timeoutMs: 30_000, ...provider }], "providers")
  if (read === undefined) throw new Error("there is no provider")
  const protocol = read.protocol === "grpc" ? grpcProtocol({ readCheckResult, writeProviderCheck }) : httpProtocol
  const made = new ProviderClient(read, protocol, new Deadlines(DEFAULT_LIMITS))
  closing.push(() => made.close())
  return made
}

const loopback = parseIp("127.0.0.1")
if (loopback === undefined) throw new Error("no address")
const http = { method: "GET", host: "shop", scheme: "http", path: "/x", query: "", headers: new Map() }
const question: ProviderQuestion = {
  connection: {
    peer: undefined,
    sourceIp: loopback,
    destinationIp: loopback,
    destinationPort: 8080,
    sni: undefined,
    clientCertificate: undefined,
  },
  http,
  requestId: "id",
  received: new FieldList([]),
  protectedHeaders: { dropsHeader: () => false },
  caller: "one",
  askedByHeader: "x-merlon-asked-by",
}

const asked = (pending: ProviderClient): Promise<ProviderAnswer> =>
  new Promise(resolve => void pending.ask(question, resolve))

describe("a provider over TLS", () => {
  const authority = new Authority()
  const names = authority.issue({ uris: [], dns: ["authz.test"] })
  const numbers = authority.issue({ subjectAltName: sequence(der(0x87, Buffer.from([127, 0, 0, 1]))) })
  const expired = authority.issue({ dns: ["authz.test"], notAfter: new Date(Date.now() - 60_000) })

  const server = ({ certificate: cert, privateKey: key }: Issued, allow: RequestListener): Server =>
    createTlsServer({ cert, key }, allow)

  function grpcServer({ certificate: cert, privateKey: key }: Issued): Server {
    const speaking = createSecureServer({ cert, key })
    speaking.on("stream", stream => {
      const message = writeCheck({ verdict: "allow", setHeaders: [], removeHeaders: [], removeParameters: [] })
      const prefix = Buffer.alloc(5)
      prefix.writeUInt32BE(message.length, 1)
      stream.respond({ ":status": 200 }, { waitForTrailers: true })
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
      stream.end(Buffer.concat([prefix, message]))
    })
    return speaking
  }

  const ca = authority.certificate
  const unreachable = { outcome: "failed", why: "unreachable" }
  const allowed = { outcome: "allowed" }
  it.each<[string, Issued, object, object]>([
    ["allows with its own authority and name", names, { ca, serverName: "authz.test" }, allowed],
    ["allows with the address that was dialled", numbers, { ca }, allowed],
    ["allows with an address as its name", numbers, { ca, serverName: "127.0.0.1" }, allowed],
    ["is rejected with another name", names, { ca, serverName: "other.test" }, unreachable],
    ["is rejected without the address that was dialled", names, { ca }, unreachable],
    ["is rejected with another address", numbers, { ca, serverName: "127.0.0.2" }, unreachable],
    ["is rejected after its certificate has expired", expired, { ca, serverName: "authz.test" }, unreachable],
    [
      "is rejected with another authority",
      names,
      { ca: new Authority().certificate, serverName: "authz.test" },
      unreachable,
    ],
    ["is rejected if the machine does not trust its authority", names, { serverName: "authz.test" }, unreachable],
  ])("%s", async (_, certificate, tls, answer) => {
    let requests = 0
    const http1 = await listening(
      server(certificate, (_request, response) => {
        requests++
        response.end()
      }),
    )
    expect(await asked(client({ protocol: "http", address: `127.0.0.1:${http1}`, tls }))).toMatchObject(answer)
    expect(requests).toBe(answer === allowed ? 1 : 0)
    const http2 = await listening(grpcServer(certificate))
    expect(await asked(client({ protocol: "grpc", address: `127.0.0.1:${http2}`, tls }))).toMatchObject(answer)
  })

  it("is not queried by gRPC if it speaks only HTTP/1.1", async () => {
    let requests = 0
    const port = await listening(server(names, () => requests++))
    const tls = { ca, serverName: "authz.test" }
    expect((await asked(client({ protocol: "grpc", address: `127.0.0.1:${port}`, tls }))).outcome).toBe("failed")
    expect(requests).toBe(0)
  })
})

it("denies further requests of a caller once too many of them wait, and queries for others", async () => {
  const held: ServerResponse[] = []
  const port = await listening(createServer((_, response) => held.push(response)))
  const pending = client({ protocol: "http", address: `127.0.0.1:${port}` })
  const answers: ProviderAnswer[] = []
  // Half of the connections, and half of the slots in the queue.
  for (let index = 0; index < 32 + 500; index++) pending.ask(question, answer => answers.push(answer))
  await eventually(() => held.length === 32)
  expect(answers).toEqual([])
  expect(await asked(pending)).toEqual({ outcome: "failed", why: "overloaded" })
  const other = new Promise<ProviderAnswer>(resolve => void pending.ask({ ...question, caller: "two" }, resolve))
  await eventually(() => held.length === 33)
  held.at(-1)?.end()
  expect(await other).toMatchObject({ outcome: "allowed" })
  expect(answers).toEqual([])
})
