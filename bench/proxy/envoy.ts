// SPDX-License-Identifier: Apache-2.0
// Envoy's configuration for the same work: its jwt_authn and RBAC filters are equivalent to our rules, and its TLS
// requires the same certificates. It may cache tokens as we do, which it does not by default.

import { ISSUER } from "./material.js"
import { isHttp2, type Work } from "./work.js"

export const TYPE = "type.googleapis.com/envoy.extensions"
const REMEMBERED_TOKENS = 20_000

/** The application uses cleartext HTTP/2. */
export const HTTP2_UPSTREAM = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
    "@type": `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  },
}

export function envoyConfiguration(work: Work, port: number, upstream: number, folder: string): unknown {
  const filters = work.includes("jwt") ? [jwtAuthn(folder), rbac({ token: true })] : []
  const router = { name: "router", typed_config: { "@type": `${TYPE}.filters.http.router.v3.Router` } }
  const manager = {
    "@type": `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "in",
    codec_type: isHttp2(work) ? "HTTP2" : "HTTP1",
    route_config: {
      virtual_hosts: [{ name: "app", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "app" } }] }],
    },
    http_filters: [...filters, router],
  }
  const chain = {
    filters: [{ name: "http", typed_config: manager }],
    ...(work.includes("mtls") && { transport_socket: transportSocket(work, folder) }),
  }
  const endpoint = { endpoint: { address: address(upstream) } }
  return {
    static_resources: {
      listeners: [{ name: "in", address: address(port), filter_chains: [chain] }],
      clusters: [
        {
          name: "app",
          type: "STATIC",
          ...(work === "grpc" && { typed_extension_protocol_options: HTTP2_UPSTREAM }),
          load_assignment: { cluster_name: "app", endpoints: [{ lb_endpoints: [endpoint] }] },
        },
      ],
    },
  }
}

export const address = (port: number, host = "127.0.0.1"): unknown => ({
  socket_address: { address: host, port_value: port },
})

export function jwtAuthn(folder: string): unknown {
  const provider = {
    issuer: ISSUER,
    local_jwks: { filename: `${folder}/jwks.json` },
    payload_in_metadata: "payload",
    jwt_cache_config: { jwt_cache_size: REMEMBERED_TOKENS },
  }
  return {
    name: "envoy.filters.http.jwt_authn",
    typed_config: {
      "@type": `${TYPE}.filters.http.jwt_authn.v3.JwtAuthentication`,
      providers: { issuer: provider },
      rules: [{ match: { prefix: "/" }, requires: { provider_name: "issuer" } }],
    },
  }
}

/** Allows requests with this caller and token; if both are given, both must match. */
export function rbac({ token, caller }: { readonly token: boolean; readonly caller?: string }): unknown {
  const claim = (name: string, exact: string): unknown => ({
    metadata: {
      filter: "envoy.filters.http.jwt_authn",
      path: [{ key: "payload" }, { key: name }],
      value: { string_match: { exact } },
    },
  })
  const ids = [
    ...(caller === undefined ? [] : [{ authenticated: { principal_name: { exact: caller } } }]),
    ...(token ? [claim("iss", ISSUER), claim("sub", "alice"), claim("role", "group1")] : []),
  ]
  return {
    name: "envoy.filters.http.rbac",
    typed_config: {
      "@type": `${TYPE}.filters.http.rbac.v3.RBAC`,
      rules: {
        action: "ALLOW",
        policies: { rule: { permissions: [{ any: true }], principals: [{ and_ids: { ids } }] } },
      },
    },
  }
}

function transportSocket(work: Work, folder: string): unknown {
  const file = (name: string): unknown => ({ filename: `${folder}/${name}` })
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${TYPE}.transport_sockets.tls.v3.DownstreamTlsContext`,
      require_client_certificate: true,
      common_tls_context: {
        tls_certificates: [{ certificate_chain: file("server.pem"), private_key: file("server.key") }],
        validation_context: { trusted_ca: file("ca.pem") },
        ...(isHttp2(work) && { alpn_protocols: ["h2"] }),
      },
    },
  }
}
