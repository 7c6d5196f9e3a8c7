// SPDX-License-Identifier: Apache-2.0
// The third-party client in a test. grpc-js-xds does not support TLS to its control plane, so it reaches the mesh port
// through a tunnel with the client's certificate, like stunnel.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { connect } from "node:tls"
import { bundle } from "../../../resilience/support/bundle.js"
import type { Credentials } from "./mesh-control.js"

const PROGRAM = new URL("./foreign-client-process.ts", import.meta.url)

export interface ForeignClientOptions {
  readonly target: string
  readonly controlPort: number
  readonly credentials: Credentials
  /** `xds`: TLS as configured by the control plane. */
  readonly security: "plain" | "xds"
}

export type Counts = { readonly [who: string]: number }

export class ForeignClient {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #tunnel: Server
  readonly #folder: string
  #stderr = ""

  private constructor(program: string, options: ForeignClientOptions, tunnel: Server, folder: string) {
    this.#tunnel = tunnel
    this.#folder = folder
    this.#child = spawn(process.execPath, [program, options.target, options.security], {
      env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap(portOf(tunnel), folder)) },
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#child.stderr.on("data", chunk => {
      this.#stderr += chunk
    })
  }

  static async start(options: ForeignClientOptions): Promise<ForeignClient> {
    const folder = mkdtempSync(join(tmpdir(), "foreign-client-"))
    const { certificateChain, privateKey, trustBundle } = options.credentials
    writeFileSync(join(folder, "cert.pem"), certificateChain)
    writeFileSync(join(folder, "key.pem"), privateKey, { mode: 0o600 })
    writeFileSync(join(folder, "roots.pem"), trustBundle)
    // Packages are not bundled: one of them reads files from its own folder.
    const program = await bundle(PROGRAM, { packages: "external" })
    return new ForeignClient(program, options, await openTunnel(options), folder)
  }

  /** Sends concurrent calls over its one channel. Returns how often each server answered. */
  async ask(calls: number, headers: { readonly [name: string]: string } = {}): Promise<Counts> {
    this.#child.stdin.write(`${JSON.stringify({ calls, headers })}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`the foreign client ended: ${this.#stderr}`)
    return JSON.parse(value)
  }

  async close(): Promise<void> {
    const ended = this.#child.exitCode === null ? once(this.#child, "exit") : undefined
    this.#child.kill("SIGKILL")
    await ended
    this.#tunnel.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function bootstrap(tunnel: number, folder: string): object {
  return {
    xds_servers: [
      { server_uri: `127.0.0.1:${tunnel}`, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] },
    ],
    node: { id: "app/consumer", locality: {} },
    certificate_providers: {
      default: {
        plugin_name: "file_watcher",
        config: {
          certificate_file: join(folder, "cert.pem"),
          private_key_file: join(folder, "key.pem"),
          ca_certificate_file: join(folder, "roots.pem"),
          refresh_interval: "60s",
        },
      },
    },
  }
}

async function openTunnel({ controlPort, credentials }: ForeignClientOptions): Promise<Server> {
  const server = createServer(inner => {
    const outer = connect({
      host: "127.0.0.1",
      port: controlPort,
      ca: credentials.trustBundle,
      cert: credentials.certificateChain,
      key: credentials.privateKey,
      ALPNProtocols: ["h2"],
    })
    inner.pipe(outer).pipe(inner)
    inner.on("error", () => outer.destroy())
    outer.on("error", () => inner.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === "string") throw new TypeError("the tunnel is not open")
  return address.port
}
