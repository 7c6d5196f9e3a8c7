// SPDX-License-Identifier: Apache-2.0
// Real gateways query a real `merlond authorizer`, with the configurations that users copy from the documentation. They
// allow, and forward to the application, exactly what an xserver with the same policies does.

import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { connect } from "node:http2"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { address, Envoy, type } from "./control/support/envoy.js"
import { startContour } from "./support/contour.js"
import { envoyGatewayConfiguration } from "./support/envoy-gateway.js"
import { documented, GatewayRig } from "./support/gateway-rig.js"
import type { XserverProcess } from "./support/xserver.js"

const PAGE = "docs/gateways.md"
let rig: GatewayRig
beforeAll(async () => {
  rig = await GatewayRig.start()
})
afterAll(() => rig.stop())

describe("Envoy", { tags: ["needs/envoy"] }, () => {
  const http2 = {
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        ...type("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"),
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
  }
  const cluster = (name: string, port: number, more: object = {}) => ({
    name,
    type: "STATIC",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
    ...more,
  })

  /** `settings`: further ones of the connection manager. */
  async function gateway(
    authorizer: XserverProcess,
    filters: readonly string[],
    more: object = {},
    settings: object = {},
  ): Promise<Envoy> {
    // The documented timeout suits a production gateway; a test machine may be slower.
    const authz = filters.map((filter): unknown => parse(filter.replace("timeout: 1s", "timeout: 60s")))
    const router = type("envoy.extensions.filters.http.router.v3.Router")
    const manager = {
      ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
      stat_prefix: "gateway",
      route_config: {
        virtual_hosts: [
          { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "application" } }] },
        ],
      },
      ...settings,
      http_filters: [...authz, { name: "envoy.filters.http.router", typed_config: router }],
    }
    const envoy = await Envoy.configured(port => ({
      clusters: [cluster("application", rig.application.port), cluster("authorizer", authorizer.port, more)],
      listeners: [
        {
          name: "gateway",
          address: address(port),
          filter_chains: [
            { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] },
          ],
        },
      ],
    }))
    rig.atEnd(() => envoy.close())
    await eventually(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${envoy.admin}/ready`).catch(() => undefined)
        return answer?.status === 200
      },
      { what: `Envoy answers: ${envoy.log}` },
    )
    return envoy
  }

  it("decides like xserver, asking by gRPC", async () => {
    const authorizer = await rig.startAuthorizer([])
    const envoy = await gateway(authorizer, [documented(PAGE, "envoy", "grpc_service")], http2)
    await rig.agreesWithXserver(envoy.port)
    await rig.deniesOtherSpellings(envoy.port)
    await authorizer.kill()
    await rig.deniesAllWith(envoy.port, 403)
  })

  it("denies gRPC calls with the status of a deny response, like xserver", async () => {
    const authorizer = await rig.startAuthorizer([])
    const envoy = await gateway(authorizer, [documented(PAGE, "envoy", "grpc_service")], http2)
    for (const [path, grpcStatus] of [
      ["/admin", "14"],
      ["/orders", "7"],
    ] as const) {
      const [expected, got] = [await callGrpc(rig.xserver.port, path), await callGrpc(envoy.port, path)]
      expect([path, expected, got]).toEqual([path, grpcStatus, grpcStatus])
    }
  })

  it("decides like xserver, with the filters of Istio's ingress gateway", async () => {
    const authorizer = await rig.startAuthorizer([])
    // As pilot/pkg/security/authz/builder of Istio generates them for the documented policy.
    const asked = `
      name: envoy.filters.http.rbac
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC
        shadow_rules:
          action: DENY
          policies:
            istio-ext-authz-merlon-ns[istio-system]-policy[merlon]-rule[0]:
              permissions: [{ and_rules: { rules: [{ any: true }] } }]
              principals: [{ and_ids: { ids: [{ any: true }] } }]
        shadow_rules_stat_prefix: istio_ext_authz_`
    const provider = `
      name: envoy.filters.http.ext_authz
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
        filter_enabled_metadata:
          filter: envoy.filters.http.rbac
          path: [{ key: istio_ext_authz_shadow_effective_policy_id }]
          value: { string_match: { prefix: istio-ext-authz-merlon } }
        grpc_service:
          envoy_grpc: { authority: merlon-authorizer.edge.svc.cluster.local, cluster_name: authorizer }
          timeout: 1s
        status_on_error: { code: Forbidden }
        transport_api_version: V3`
    const envoy = await gateway(authorizer, [asked, provider], http2, { normalize_path: true })
    await rig.agreesWithXserver(envoy.port)
    await rig.normalizesOtherSpellings(envoy.port)
    await authorizer.kill()
    await rig.deniesAllWith(envoy.port, 403)
  })

  it("decides like xserver, asking by HTTP", async () => {
    const authorizer = await rig.startAuthorizer([])
    const envoy = await gateway(authorizer, [documented(PAGE, "envoy", "http_service")])
    await rig.agreesWithXserver(envoy.port)
    await rig.deniesOtherSpellings(envoy.port)
  })
})

describe("Envoy Gateway", { tags: ["needs/envoy", "needs/egctl"] }, () => {
  it("decides like xserver, with a SecurityPolicy", async () => {
    const authorizer = await rig.startAuthorizer([])
    // The documented timeout suits a production gateway; a test machine may be slower.
    const policy = documented(PAGE, "yaml", "kind: SecurityPolicy").replace("timeout: 1s", "timeout: 60s")
    const { application } = rig
    const envoy = await Envoy.configured(gateway =>
      envoyGatewayConfiguration(policy, { gateway, application: application.port, authorizer: authorizer.port }),
    )
    rig.atEnd(() => envoy.close())
    await rig.answers(`Envoy (${envoy.log})`, envoy.port)
    await rig.agreesWithXserver(envoy.port, status => status, withoutUnderscores(rig.asked))
    const lookalike = { method: "GET", path: "/public/a", headers: { x_user: "mallory" } }
    expect(await rig.ask(envoy.port, lookalike)).toEqual({ status: 400, application: undefined })
    await rig.normalizesOtherSpellings(envoy.port)
    await authorizer.kill()
    await rig.deniesAllWith(envoy.port, 403)
  })
})

describe("Contour", { tags: ["needs/contour", "needs/envoy", "needs/kubectl"] }, () => {
  it("decides like xserver, asking an ExtensionService", async () => {
    const authorizer = await rig.startAuthorizer([])
    const configuration = documented(PAGE, "yaml", "globalExtAuth").replace("1s", "60s")
    const resources = documented(PAGE, "yaml", "kind: ExtensionService")
    const port = await startContour(rig, resources, configuration, authorizer.port)
    await rig.agreesWithXserver(port)
    await rig.normalizesOtherSpellings(port)
    await authorizer.kill()
    await rig.deniesAllWith(port, 403)
  })
})

describe("Traefik", { tags: ["needs/traefik"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = rig.folder("traefik")
    const [port, internal] = await Promise.all([freePort(), freePort()])
    const dynamic = documented(PAGE, "yaml", "forwardAuth")
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${rig.application.port}`)
    const file = join(folder, "dynamic.yaml")
    writeFileSync(file, dynamic)
    const entryPoints = { web: { address: `127.0.0.1:${port}` }, traefik: { address: `127.0.0.1:${internal}` } }
    const global = { checkNewVersion: false, sendAnonymousUsage: false }
    writeFileSync(
      join(folder, "traefik.yaml"),
      JSON.stringify({ global, entryPoints, providers: { file: { filename: file } } }),
    )
    rig.run("traefik", ["--configFile", join(folder, "traefik.yaml")])
    await eventually(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
        return answer !== undefined && answer.status !== 404
      },
      { what: "Traefik has its routes" },
    )
    return port
  }

  it("decides like xserver, asking by forwardAuth", async () => {
    const authorizer = await rig.startAuthorizer(["--forward-auth", "traefik"])
    const port = await gateway(authorizer)
    await rig.agreesWithXserver(port, status => status, withoutUnderscores(rig.asked))
    const lookalike = { method: "GET", path: "/public/a", headers: { x_user: "mallory" } }
    expect(await rig.ask(port, lookalike)).toEqual({ status: 403, application: undefined })
    await rig.normalizesOtherSpellings(port)
    await authorizer.kill()
    await rig.deniesAllWith(port, 500)
  })
})

/** The gRPC status of a response that consists of trailers only. */
async function callGrpc(port: number, path: string): Promise<unknown> {
  const session = connect(`http://127.0.0.1:${port}`)
  const headers = { ":method": "POST", ":path": path, ":authority": "shop.example", "content-type": "application/grpc" }
  const call = session.request({ ...headers, te: "trailers" })
  call.end()
  const [head] = await once(call, "response")
  await call.toArray()
  session.close()
  expect(head[":status"]).toBe(200)
  return head["grpc-status"]
}

/** For gateways that cannot remove such a header. */
function withoutUnderscores(asked: GatewayRig["asked"]): GatewayRig["asked"] {
  return asked.map(({ headers, ...request }) => {
    const { x_user: _, ...kept } = headers
    return { ...request, headers: kept }
  })
}

describe("HAProxy", { tags: ["needs/haproxy"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = rig.folder("haproxy")
    const port = await freePort()
    const script = documented(PAGE, "lua", "register_action")
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
      // The documented timeout suits a production gateway; a test machine may be slower.
      .replace("timeout = 1000", "timeout = 60000")
    const configuration = documented(PAGE, "haproxy", "lua.authorize")
      .replace("/etc/haproxy/authorize.lua", join(folder, "authorize.lua"))
      .replace("127.0.0.1:8082", `127.0.0.1:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${rig.application.port}`)
    writeFileSync(join(folder, "authorize.lua"), script)
    writeFileSync(join(folder, "haproxy.cfg"), configuration)
    rig.run("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")])
    await rig.answers("HAProxy", port)
    return port
  }

  it("decides like xserver, asking by Lua", async () => {
    const authorizer = await rig.startAuthorizer(["--forward-auth", "nginx"])
    const port = await gateway(authorizer)
    await rig.agreesWithXserver(port)
    await rig.deniesOtherSpellings(port)
    await authorizer.kill()
    await rig.deniesAllWith(port, 503)
  })
})

describe("nginx", { tags: ["needs/nginx"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = rig.folder("nginx")
    const port = await freePort()
    const server = documented(PAGE, "nginx", "auth_request")
      .replace("listen 127.0.0.1:8081", `listen 127.0.0.1:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${rig.application.port}`)
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      name => `${name}_temp_path ${join(folder, name)};`,
    )
    const configuration = [
      `daemon off; master_process off; pid ${join(folder, "pid")}; error_log stderr error;`,
      "events { worker_connections 64; }",
      `http { access_log off; ${temporary.join(" ")}`,
      server,
      "}",
    ].join("\n")
    writeFileSync(join(folder, "nginx.conf"), configuration)
    rig.run("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")])
    await rig.answers("nginx", port)
    return port
  }

  it("decides like xserver, asking by auth_request", async () => {
    const authorizer = await rig.startAuthorizer(["--forward-auth", "nginx"])
    const port = await gateway(authorizer)
    await rig.agreesWithXserver(port, status => (status === 429 ? 500 : status))
    await rig.deniesOtherSpellings(port)
    await authorizer.kill()
    await rig.deniesAllWith(port, 500)
  })
})

describe("Caddy", { tags: ["needs/caddy"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = rig.folder("caddy")
    const port = await freePort()
    const site = documented(PAGE, "caddy", "forward_auth")
      .replace(":8083", `http://127.0.0.1:${port}, http://shop.example:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${rig.application.port}`)
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
    writeFileSync(join(folder, "Caddyfile"), `{\n  admin off\n  auto_https off\n  persist_config off\n}\n${site}`)
    const environment = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    rig.run("caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")], { env: environment })
    await rig.answers("Caddy", port)
    return port
  }

  it("decides like xserver, asking by forward_auth", async () => {
    const authorizer = await rig.startAuthorizer(["--forward-auth", "caddy"])
    const port = await gateway(authorizer)
    await rig.agreesWithXserver(port)
    // Caddy escapes a backslash, both for the authorizer and for the application.
    await rig.deniesOtherSpellings(port, path => !path.includes("\\"))
    await authorizer.kill()
    await rig.deniesAllWith(port, 502)
  })
})
