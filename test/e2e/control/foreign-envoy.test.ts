// SPDX-License-Identifier: Apache-2.0
// A real Envoy on our mesh port: it accepts every resource that we send, in both variants of the protocol, and routes
// by them.

import { once } from "node:events"
import { createServer, request, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { Envoy } from "./support/envoy.js"
import { type Credentials, type MeshControl, startMeshControl } from "./support/mesh-control.js"

const ROUTES = "web.app.svc.cluster.local:80"
const metadata = (name: string, more: object = {}) => ({ name, namespace: "app", ...more })

describe("Envoy (needs `ENVOY`)", { tags: ["needs/envoy"] }, () => {
  let control: MeshControl
  let envoy: Envoy | undefined
  const servers: Server[] = []

  beforeAll(async () => {
    control = await startMeshControl()
    await control.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "app" } })
    await control.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata("web"),
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    })
  })
  afterAll(() => control.close())
  afterEach(async () => {
    await envoy?.close()
    envoy = undefined
    for (const server of servers.splice(0)) server.close()
  })

  async function serve(version: string, credentials?: Credentials): Promise<void> {
    const answer = (_: unknown, response: { end(text: string): void }) => response.end(version)
    const server =
      credentials === undefined
        ? createServer(answer)
        : createTlsServer(
            {
              cert: credentials.certificateChain,
              key: credentials.privateKey,
              ca: credentials.trustBundle,
              requestCert: true,
            },
            answer,
          )
    servers.push(server)
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const bound = server.address()
    const containerPort = typeof bound === "object" && bound !== null ? bound.port : 0
    await control.delete("Pod", "app", `web-${version}`)
    await control.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata(`web-${version}`, { labels: { app: "web", version } }),
      spec: {
        serviceAccountName: "web",
        containers: [{ name: "app", image: "app", ports: [{ name: "http", containerPort }] }],
      },
      status: { phase: "Running", podIP: "127.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
    })
  }

  const subset = (version: string, weight: number) => ({ host: "web", name: version, labels: { version }, weight })
  const everyMatch = {
    match: [
      {
        uri: { regex: "/canary/.*" },
        method: { exact: "GET" },
        headers: { "x-any": { prefix: "" }, "x-tier": { regex: "gold|silver" } },
        queryParams: { q: { prefix: "a" } },
        port: 80,
      },
      { host: { exact: "web.app.svc" } },
    ],
    route: [{ service: [{ host: "web", name: "v2", labels: { version: "v2" } }] }],
  }

  function route(v1: number, v2: number, mode: string, rules: readonly object[] = []) {
    return control.apply({
      apiVersion: "networking.merlon.dev/v1alpha3",
      kind: "MeshService",
      metadata: metadata("web"),
      spec: {
        hosts: ["web"],
        // Envoy rejects a whole resource for one field that it does not accept.
        trafficPolicy: {
          tls: { mode },
          connectionPool: { tcp: { connectTimeout: "4s" }, http: { http2MaxRequests: 100 } },
          outlierDetection: { consecutiveGatewayErrors: 50, minHealthPercent: 10 },
        },
        retries: { attempts: 2, perTryTimeout: "60s", retryOn: "connect-failure,503" },
        rules,
        routes: [{ service: [subset("v1", v1), subset("v2", v2)] }],
      },
    })
  }

  async function start(variant: "GRPC" | "DELTA_GRPC"): Promise<void> {
    const credentials = control.credentialsOf("app", "consumer")
    envoy = await Envoy.start({ controlPort: control.port, credentials, routes: ROUTES, variant })
  }

  function get(path: string, headers: { readonly [name: string]: string } = {}): Promise<string> {
    return new Promise(resolve => {
      const call = request(
        { host: "127.0.0.1", port: envoy?.port, path, headers: { host: "web.app", ...headers } },
        response => {
          let body = ""
          response.on("data", chunk => {
            body += chunk
          })
          response.on("end", () => resolve(body))
        },
      )
      call.on("error", error => resolve(`error: ${error.message}`))
      call.end()
    })
  }

  const rejected = () => (envoy?.log ?? "").split("\n").filter(line => /rejected|invalid|not allowed/i.test(line))

  it.each(["GRPC", "DELTA_GRPC"] as const)("routes by weight and by every match over %s", async variant => {
    await serve("v1")
    await serve("v2")
    await route(100, 0, "DISABLE", [everyMatch])
    await start(variant)
    await expect.poll(() => get("/")).toBe("v1")
    const canary = { "x-any": "", "x-tier": "silver" }
    expect(await get("/canary/x?q=ab", canary)).toBe("v2")
    expect(await get("/canary/x?q=b", canary)).toBe("v1")
    expect(await get("/canary/x?q=ab", { ...canary, "x-tier": "silvery" })).toBe("v1")
    expect(await get("/x?q=ab", canary)).toBe("v1")
    expect(await get("/", { host: "web.app.svc:80" })).toBe("v2")
    await route(0, 100, "DISABLE")
    await expect.poll(() => get("/")).toBe("v2")
    expect(rejected()).toEqual([])
  })

  it("calls with its certificate under DUBBO_MUTUAL, and rejects servers with another identity", async () => {
    await serve("v1", control.credentialsOf("app", "web"))
    await serve("v2", control.credentialsOf("app", "intruder"))
    await route(100, 0, "DUBBO_MUTUAL")
    await start("DELTA_GRPC")
    await expect.poll(() => get("/")).toBe("v1")
    await route(0, 100, "DUBBO_MUTUAL")
    await expect.poll(() => get("/")).toContain("remote connection failure")
    const stats = await fetch(`http://127.0.0.1:${envoy?.admin}/stats?usedonly&filter=fail_verify_san`)
    expect(await stats.text()).toMatch(/\|v2\|.*fail_verify_san: [1-9]/)
    expect(rejected()).toEqual([])
  })
})
