// SPDX-License-Identifier: Apache-2.0
// A third-party client, grpc-js-xds, uses only our control plane: hosts, weights, matches, endpoints and TLS, from
// documents in the API to the response of a real server.

import { ServerCredentials } from "@grpc/grpc-js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Counts, ForeignClient } from "./support/foreign-client.js"
import { type Credentials, type MeshControl, startMeshControl } from "./support/mesh-control.js"
import { startWho, type WhoServer } from "./support/who-service.js"

const TARGET = "xds:///web.app.svc.cluster.local:80"
const metadata = (name: string, more: object = {}) => ({ name, namespace: "app", ...more })

let control: MeshControl
let client: ForeignClient | undefined
const servers: WhoServer[] = []

beforeAll(async () => {
  control = await startMeshControl()
  await control.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "app" } })
  await control.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata("web"),
    spec: { selector: { app: "web" }, ports: [{ name: "grpc", port: 80, targetPort: "grpc" }] },
  })
})
afterAll(() => control.close())
afterEach(async () => {
  await client?.close()
  client = undefined
  for (const server of servers.splice(0)) server.close()
})

async function serve(version: string, credentials: ServerCredentials, serviceAccount = "web"): Promise<void> {
  const server = await startWho(version, credentials)
  servers.push(server)
  await control.delete("Pod", "app", `web-${version}`)
  await control.apply(pod(version, server.port, true, serviceAccount))
}

function pod(version: string, port: number, ready: boolean, serviceAccountName = "web") {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(`web-${version}`, { labels: { app: "web", version } }),
    spec: {
      serviceAccountName,
      containers: [{ name: "app", image: "app", ports: [{ name: "grpc", containerPort: port }] }],
    },
    status: {
      phase: "Running",
      podIP: "127.0.0.1",
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  }
}

const subset = (version: string, weight: number) => ({ host: "web", name: version, labels: { version }, weight })

/** A client that does not support retries rejects all of the routes. */
const RETRIES = { attempts: 2, retryOn: "unavailable", retryNonIdempotent: true }

function route(v1: number, v2: number, more: object = {}) {
  return control.apply({
    apiVersion: "networking.merlon.dev/v1alpha3",
    kind: "MeshService",
    metadata: metadata("web"),
    spec: { hosts: ["web"], routes: [{ service: [subset("v1", v1), subset("v2", v2)] }], retries: RETRIES, ...more },
  })
}

function start(
  security: "plain" | "xds",
  target = TARGET,
  credentials: Credentials = control.credentialsOf("app", "consumer"),
) {
  return ForeignClient.start({ target, controlPort: control.port, credentials, security })
}

async function pending(calls: number, headers?: { readonly [name: string]: string }): Promise<Counts> {
  if (client === undefined) throw new TypeError("no client")
  return client.ask(calls, headers)
}

describe("a foreign gRPC client in plaintext", () => {
  beforeEach(async () => {
    await serve("v1", ServerCredentials.createInsecure())
    await serve("v2", ServerCredentials.createInsecure())
    await route(100, 0, { rules: [], trafficPolicy: { tls: { mode: "DISABLE" } } })
  })

  it("follows weights, and their changes on the open channel", async () => {
    client = await start("plain")
    await expect.poll(() => pending(20)).toEqual({ v1: 20 })
    await route(0, 100)
    await expect.poll(() => pending(20)).toEqual({ v2: 20 })
    await route(90, 10)
    await expect.poll(async () => (await pending(20)).v1 ?? 0).toBeGreaterThan(0)
    const { v1 = 0, v2 = 0 } = await pending(1_000)
    expect(v1 + v2).toBe(1_000)
    // Within five standard deviations of a fair split.
    expect(v1).toBeGreaterThan(850)
    expect(v1).toBeLessThan(950)
  })

  it("follows a match by header before the weights", async () => {
    await route(100, 0, {
      rules: [
        {
          match: [{ headers: { "x-canary": { regex: "yes|true" } } }],
          route: [{ service: [{ host: "web", name: "v2", labels: { version: "v2" } }] }],
        },
      ],
    })
    client = await start("plain")
    await expect.poll(() => pending(10, { "x-canary": "true" })).toEqual({ v2: 10 })
    expect(await pending(10, { "x-canary": "trueish" })).toEqual({ v1: 10 })
    expect(await pending(10)).toEqual({ v1: 10 })
  })

  it("calls the ready Pods of a Service without a MeshService", async () => {
    await control.delete("MeshService", "app", "web")
    client = await start("plain", "xds:///web.app:80")
    await expect.poll(async () => Object.keys(await pending(20)).sort()).toEqual(["v1", "v2"])
    await control.apply(pod("v1", servers[0]?.port ?? 0, false))
    await expect.poll(() => pending(20)).toEqual({ v2: 20 })
  })
})

describe("a foreign gRPC client under DUBBO_MUTUAL", () => {
  const mutual = (credentials: Credentials) =>
    ServerCredentials.createSsl(
      Buffer.from(credentials.trustBundle),
      [{ cert_chain: Buffer.from(credentials.certificateChain), private_key: Buffer.from(credentials.privateKey) }],
      true,
    )

  beforeEach(() => route(50, 50, { rules: [], trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } }))

  it("calls with its certificate and trusts the identities behind the Service", async () => {
    await serve("v1", mutual(control.credentialsOf("app", "web")))
    await serve("v2", mutual(control.credentialsOf("app", "web")))
    client = await start("xds")
    await expect.poll(async () => Object.keys(await pending(40)).sort()).toEqual(["v1", "v2"])
  })

  it("does not trust a server of the mesh with another identity", async () => {
    await serve("v1", mutual(control.credentialsOf("app", "web")))
    await serve("v2", mutual(control.credentialsOf("app", "intruder")))
    await route(100, 0)
    client = await start("xds")
    await expect.poll(() => pending(5)).toEqual({ v1: 5 })
    await route(0, 100)
    await expect
      .poll(async () => Object.keys(await pending(5)).join())
      .toMatch(/^error: .*No matching subject alternative name/)
  })
})
