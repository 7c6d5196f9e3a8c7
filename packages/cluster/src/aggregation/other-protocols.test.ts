// SPDX-License-Identifier: Apache-2.0
// An aggregated API server that responds in the wrong way: the client gets an error, and discovery still lists the
// other servers.

import { once } from "node:events"
import { join } from "node:path"
import { createServer, type TLSSocket } from "node:tls"
import { afterAll, beforeAll, expect, it } from "vitest"
import { loadCredentials } from "../auth/pki.js"
import { startTestServer, type TestServer } from "../testing/server.js"
import type { JsonObject } from "../value.js"

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
const LIST = JSON.stringify({ kind: "APIResourceList", resources: [{ name: "things", kind: "Thing" }] })
const WARNING = '299 - "beware of café…"'
const LISTED = `HTTP/1.1 200 OK\r\nconnection: close\r\nwarning: ${WARNING}\r\ncontent-length: ${LIST.length}\r\n\r\n${LIST}`

/** By the first letter of the group, in the order in which the groups are polled. */
const ANSWERS: Readonly<Record<string, string>> = { a: SWITCH, b: "garbage\r\n\r\n", c: "", d: LISTED }
const HOST = "behind.default.svc"

let server: TestServer
const behind = { close: (): void => undefined }

beforeAll(async () => {
  server = await startTestServer()
  const own = await loadCredentials(join(server.folder, "behind"), [HOST], Date.now())
  const answer = (socket: TLSSocket): void => {
    socket.on("error", () => undefined)
    socket.once("data", (request: Buffer) => socket.end(ANSWERS[/\/apis\/(.)/.exec(String(request))?.[1] ?? ""] ?? ""))
  }
  const listening = createServer({ cert: own.serverCertificate, key: own.serverKey }, answer)
  behind.close = () => listening.close()
  await once(listening.listen(0, "127.0.0.1"), "listening")
  const address = listening.address()
  const port = typeof address === "object" ? (address?.port ?? 0) : 0
  const spec = { type: "ExternalName", externalName: "127.0.0.1", ports: [{ port }] }
  await created("/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "behind" },
    spec,
  })
  for (const letter of Object.keys(ANSWERS)) {
    const group = `${letter}.example.com`
    await created("/apis/apiregistration.k8s.io/v1/apiservices", {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `v1.${group}` },
      spec: {
        group,
        version: "v1",
        service: { namespace: "default", name: "behind", port },
        caBundle: Buffer.from(own.caCertificate).toString("base64"),
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    })
  }
})

afterAll(async () => {
  behind.close()
  await server.close()
})

async function created(path: string, object: JsonObject): Promise<void> {
  expect(await server.admin("POST", path, object)).toMatchObject({ status: 201 })
}

it.each([
  ["with a switch of protocols", "a"],
  ["with something that is not HTTP", "b"],
  ["nothing", "c"],
])("reports a backend that responds %s as unavailable", async (_, letter) => {
  expect(await server.admin("GET", `/apis/${letter}.example.com/v1/things`)).toMatchObject({ status: 503 })
})

it("passes on the bytes of a warning unchanged", async () => {
  const { headers } = await server.admin("GET", "/apis/d.example.com/v1/things")
  // Node decodes each byte as one character.
  expect(headers.warning).toEqual([Buffer.from(WARNING).toString("latin1")])
})

it("still lists the resources of other backends", async () => {
  const accept = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
  const discovered = async (): Promise<string> =>
    JSON.stringify((await server.client.send({ method: "GET", path: "/apis", headers: { Accept: accept } })).body)
  await expect.poll(discovered).toContain('"things"')
})
