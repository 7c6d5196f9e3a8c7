// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, createServer as createTcpServer } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { Configuration } from "../config/configuration.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

const closed: PolicyDocument = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name: "closed", namespace: "foo" },
  spec: { action: "DENY", rules: [{}] },
}
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port // all of them are TCP servers

const application = createServer((_, reply) => reply.end("ok"))
const busy = createTcpServer()
let path: LocalDataPath

beforeEach(async () => {
  for (const server of [application, busy]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" })
})
afterEach(async () => {
  await path.drain()
  for (const server of [application, busy]) server.close()
})

const configuration = (revision: number, listen: number, ...policies: PolicyDocument[]): Configuration => ({
  revision,
  mesh: meshConfig(),
  workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default", labels: {} },
  ports: [
    {
      port: 8080,
      listen: { host: "127.0.0.1", port: listen },
      upstream: { host: "127.0.0.1", port: portOf(application) },
      protocol: "http",
      upstreamProtocol: "http/1.1",
      serviceNames: [],
    },
  ],
  policies,
  keySets: {},
  tls: undefined,
  revocations: { identities: [], serials: [] },
  probes: {},
})

const status = async () =>
  (await fetch(`http://127.0.0.1:${path.addresses()[0]?.port}/`, { headers: { connection: "close" } })).status

it("keeps the current policies and ports if a port cannot be opened", async () => {
  await path.apply(configuration(1, 0, closed))
  expect(await status()).toBe(403)
  await expect(path.apply(configuration(2, portOf(busy)))).rejects.toThrow("EADDRINUSE")
  expect(await status()).toBe(403)
  await path.apply(configuration(3, 0))
  expect(await status()).toBe(200)
})

it("opens nothing after it has been drained", async () => {
  await path.apply(configuration(1, 0))
  await path.drain()
  await expect(path.apply(configuration(2, 0))).rejects.toThrow("closed")
})
