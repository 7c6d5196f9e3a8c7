// SPDX-License-Identifier: Apache-2.0
// A real Envoy: either one that gets everything but its listener from the mesh port (routes, clusters and endpoints
// over ADS, with its own certificate), or one with a configuration of the test. Tests that start it carry the tag
// `needs/envoy`.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../../../packages/cluster/src/store/testing/free-port.js"
import { envoy } from "../../../runner/programs.js"
import type { Credentials } from "./mesh-control.js"

export interface EnvoyOptions {
  readonly controlPort: number
  readonly credentials: Credentials
  /** Name of the routes that its listener follows. */
  readonly routes: string
  readonly variant: "GRPC" | "DELTA_GRPC"
}

export class Envoy {
  readonly port: number
  readonly admin: number
  readonly #child: ChildProcess
  readonly #folder: string
  log = ""

  private constructor(child: ChildProcess, folder: string, port: number, admin: number) {
    this.#child = child
    this.#folder = folder
    this.port = port
    this.admin = admin
    child.stderr?.on("data", chunk => {
      this.log += chunk
    })
  }

  static async start(options: EnvoyOptions): Promise<Envoy> {
    const folder = mkdtempSync(join(tmpdir(), "envoy-"))
    const { certificateChain, privateKey, trustBundle } = options.credentials
    writeFileSync(join(folder, "cert.pem"), certificateChain)
    writeFileSync(join(folder, "key.pem"), privateKey, { mode: 0o600 })
    writeFileSync(join(folder, "roots.pem"), trustBundle)
    return Envoy.#launch(folder, (port, admin) => bootstrap(options, folder, port, admin))
  }

  /** With a static configuration for the port that it listens on, and runtime flags. */
  static configured(configuration: (port: number) => object, runtime: object = {}): Promise<Envoy> {
    const folder = mkdtempSync(join(tmpdir(), "envoy-"))
    return Envoy.#launch(folder, (port, admin) => ({
      admin: { address: address(admin) },
      static_resources: configuration(port),
      layered_runtime: { layers: [{ name: "flags", static_layer: runtime }] },
    }))
  }

  static async #launch(folder: string, configuration: (port: number, admin: number) => object): Promise<Envoy> {
    const [port, admin] = [await freePort(), await freePort()]
    writeFileSync(join(folder, "envoy.json"), JSON.stringify(configuration(port, admin)))
    const flags = ["--config-path", join(folder, "envoy.json"), "--disable-hot-restart", "--concurrency", "1"]
    const child = spawn(envoy() ?? "envoy", flags, { stdio: ["ignore", "ignore", "pipe"] })
    return new Envoy(child, folder, port, admin)
  }

  async close(): Promise<void> {
    const ended = this.#child.exitCode === null ? once(this.#child, "exit") : undefined
    this.#child.kill("SIGKILL")
    await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export const address = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } })
export const type = (name: string) => ({ "@type": `type.googleapis.com/${name}` })

function bootstrap(
  { controlPort, routes, variant }: EnvoyOptions,
  folder: string,
  port: number,
  admin: number,
): object {
  const ads = { ads: {}, resource_api_version: "V3" }
  const file = (name: string) => ({ filename: join(folder, name) })
  const certificate = { certificate_chain: file("cert.pem"), private_key: file("key.pem") }
  const trust = { trusted_ca: file("roots.pem") }
  const http2 = { explicit_http_config: { http2_protocol_options: {} } }
  return {
    node: { id: "app/envoy", cluster: "app" },
    admin: { address: address(admin) },
    dynamic_resources: {
      ads_config: {
        api_type: variant,
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: "control" } }],
      },
      cds_config: ads,
    },
    static_resources: {
      secrets: [
        { name: "default", tls_certificate: certificate },
        { name: "ROOTCA", validation_context: trust },
      ],
      clusters: [
        {
          name: "control",
          type: "STATIC",
          load_assignment: {
            cluster_name: "control",
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(controlPort) } }] }],
          },
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              ...type("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"),
              ...http2,
            },
          },
          transport_socket: {
            name: "envoy.transport_sockets.tls",
            typed_config: {
              ...type("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"),
              common_tls_context: {
                alpn_protocols: ["h2"],
                // As a client, Envoy uses at most TLS 1.2 by default, and the mesh port accepts only 1.3.
                tls_params: { tls_maximum_protocol_version: "TLSv1_3" },
                tls_certificates: [certificate],
                validation_context: trust,
              },
            },
          },
        },
      ],
      listeners: [
        {
          name: "out",
          address: address(port),
          filter_chains: [
            {
              filters: [
                {
                  name: "envoy.filters.network.http_connection_manager",
                  typed_config: {
                    ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
                    stat_prefix: "out",
                    rds: { config_source: ads, route_config_name: routes },
                    http_filters: [
                      {
                        name: "envoy.filters.http.router",
                        typed_config: type("envoy.extensions.filters.http.router.v3.Router"),
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  }
}
