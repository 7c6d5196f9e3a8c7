// SPDX-License-Identifier: Apache-2.0
// Envoy on both sides, configured like Istio's sidecars: connections are redirected to a listener that passes them to
// the listener of their destination. Each side routes per request, with mTLS in between and the names of both checked,
// and with jwt_authn and RBAC at the server. Between the proxies, requests use the application's HTTP version, which is
// Istio's default (`h2UpgradePolicy: DO_NOT_UPGRADE`).

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { address, HTTP2_UPSTREAM, jwtAuthn, rbac, TYPE } from "../proxy/envoy.js"
import { CALLER_ID, SERVER_ID } from "../proxy/material.js"
import { programPath } from "../proxy/running.js"
import type { Commands, Pair, PairOptions } from "./pairs.js"
import { IS_CAPTURED } from "./site.js"
import { isHttp2, type Scenario, SERVICE } from "./work.js"

interface Resources {
  readonly listeners: readonly unknown[]
  readonly clusters: readonly unknown[]
}

const TRUST_DOMAIN = "spiffe://cluster.local/"

export const envoyPair: Pair = {
  name: "Envoy",
  program: programPath("envoy"),
  isHttpProxy: false,
  can: () => true,
  commands,
}

function commands({ scenario, site, upstream, inbound: port, outbound: out, folder }: PairOptions): Commands {
  const server = { host: site.server, port }
  const inbound = inboundResources(scenario, server, upstream, folder)
  const outbound = outboundResources(scenario, out, site.service, server, folder)
  const command = (name: string, resources: Resources): readonly string[] => {
    const file = join(folder, `${site.name}-envoy-${name}.json`)
    writeFileSync(file, JSON.stringify({ static_resources: resources }))
    const args = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]
    return [envoyPair.program ?? "envoy", ...args]
  }
  if (scenario.together !== true) return { caller: command("caller", outbound), server: command("server", inbound) }
  const listeners = [...inbound.listeners, ...outbound.listeners]
  return { caller: command("both", { listeners, clusters: [...inbound.clusters, ...outbound.clusters] }) }
}

interface Place {
  readonly host: string
  readonly port: number
}

function outboundResources(
  scenario: Scenario,
  port: number,
  service: string,
  server: Place,
  folder: string,
): Resources {
  const manager = { name: "out", cluster: "outbound", filters: [] }
  const chain = { filters: [connectionManager(scenario, manager)] }
  const routed = { name: "service", filter_chains: [chain] }
  const redirected = [
    { name: "virtualOutbound", address: address(port), use_original_dst: true, filter_chains: [passThrough()] },
    { ...routed, address: address(SERVICE.port, service), bind_to_port: false },
  ]
  const tls = tlsContext("Upstream", scenario, folder, "client", { exact: SERVER_ID })
  return {
    listeners: IS_CAPTURED ? redirected : [{ ...routed, address: address(port) }],
    clusters: [
      cluster("outbound", scenario, server, tls),
      { name: "PassthroughCluster", type: "ORIGINAL_DST", lb_policy: "CLUSTER_PROVIDED" },
    ],
  }
}

function inboundResources(scenario: Scenario, listen: Place, upstream: number, folder: string): Resources {
  const { token } = scenario
  const filters = [...(token ? [jwtAuthn(folder)] : []), rbac({ token, caller: CALLER_ID })]
  const certificate = {
    forward_client_cert_details: "APPEND_FORWARD",
    set_current_client_cert_details: { subject: true, dns: true, uri: true },
  }
  const manager = { name: "in", cluster: "inbound", filters, ...certificate }
  const tls = tlsContext("Downstream", scenario, folder, "server", { prefix: TRUST_DOMAIN })
  const chain = { filters: [connectionManager(scenario, manager)], transport_socket: tls }
  return {
    listeners: [{ name: "virtualInbound", address: address(listen.port, listen.host), filter_chains: [chain] }],
    clusters: [cluster("inbound", scenario, { host: "127.0.0.1", port: upstream }, undefined)],
  }
}

interface Manager {
  readonly name: string
  readonly cluster: string
  readonly filters: readonly unknown[]
}

function connectionManager(scenario: Scenario, { name, cluster: to, filters, ...more }: Manager): unknown {
  const filter = (kind: string, type: string): unknown => ({
    name: `envoy.filters.http.${kind}`,
    typed_config: { "@type": `${TYPE}.filters.http.${kind}.v3.${type}` },
  })
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: name,
      codec_type: isHttp2(scenario) ? "HTTP2" : "HTTP1",
      normalize_path: true,
      route_config: {
        virtual_hosts: [{ name: to, domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: to } }] }],
      },
      http_filters: [...filters, filter("fault", "HTTPFault"), filter("cors", "Cors"), filter("router", "Router")],
      ...more,
    },
  }
}

/** For unknown destinations. */
function passThrough(): unknown {
  const proxy = {
    "@type": `${TYPE}.filters.network.tcp_proxy.v3.TcpProxy`,
    stat_prefix: "pass",
    cluster: "PassthroughCluster",
  }
  return { filters: [{ name: "envoy.filters.network.tcp_proxy", typed_config: proxy }] }
}

function cluster(name: string, scenario: Scenario, { host, port }: Place, tls: unknown): unknown {
  const endpoint = { endpoint: { address: address(port, host) } }
  const most = 4_294_967_295
  const unlimited = { max_connections: most, max_pending_requests: most, max_requests: most, max_retries: most }
  return {
    name,
    type: "STATIC",
    lb_policy: "LEAST_REQUEST",
    circuit_breakers: { thresholds: [unlimited] },
    ...(isHttp2(scenario) && { typed_extension_protocol_options: HTTP2_UPSTREAM }),
    ...(tls !== undefined && { transport_socket: tls }),
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
  }
}

function tlsContext(
  side: "Upstream" | "Downstream",
  scenario: Scenario,
  folder: string,
  credentials: "client" | "server",
  peer: { readonly exact: string } | { readonly prefix: string },
): unknown {
  const file = (name: string): unknown => ({ filename: `${folder}/${name}` })
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${TYPE}.transport_sockets.tls.v3.${side}TlsContext`,
      ...(side === "Upstream" ? { sni: SERVICE.host } : { require_client_certificate: true }),
      common_tls_context: {
        tls_certificates: [{ certificate_chain: file(`${credentials}.pem`), private_key: file(`${credentials}.key`) }],
        validation_context: {
          trusted_ca: file("ca.pem"),
          match_typed_subject_alt_names: [{ san_type: "URI", matcher: peer }],
        },
        alpn_protocols: [isHttp2(scenario) ? "h2" : "http/1.1"],
      },
    },
  }
}
