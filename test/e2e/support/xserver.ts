// SPDX-License-Identifier: Apache-2.0
// A real `merlond xserver` (or `merlond authorizer`) process with its own configuration and folder.

import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { eventually } from "../../../packages/wire/src/testing/eventually.js"

export interface Settings {
  readonly upstream: number
  readonly policies?: readonly object[]
  readonly tls?: { readonly certificateChain: string; readonly privateKey: string; readonly trustBundle: string }
  readonly protocol?: "http" | "tcp" | "auto"
  readonly more?: object
  readonly args?: readonly string[]
  /** Defaults to `xserver`. */
  readonly command?: "xserver" | "authorizer"
  readonly env?: NodeJS.ProcessEnv
}

export class XserverProcess {
  readonly folder = mkdtempSync(join(tmpdir(), "merlon-xserver-"))
  port = 0
  admin = 0
  health = 0
  stderr = ""
  stdout = ""
  #settings: Settings
  #configured = 0
  #child: ChildProcess | undefined
  #ended: Promise<number | null> = Promise.resolve(null)

  private constructor(settings: Settings) {
    this.#settings = settings
  }

  static async start(settings: Settings): Promise<XserverProcess> {
    const xserver = await XserverProcess.create(settings)
    await xserver.run()
    return xserver
  }

  /** Creates the configuration without starting the process. */
  static async create(settings: Settings): Promise<XserverProcess> {
    const xserver = new XserverProcess(settings)
    ;[xserver.port, xserver.admin, xserver.health] = await Promise.all([freePort(), freePort(), freePort()])
    xserver.configure(settings)
    return xserver
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Starts the process and waits until it is ready. */
  async run(): Promise<void> {
    this.launch()
    await eventually(
      async () => {
        if (this.#child?.exitCode !== null) throw new Error(`xserver ended: ${this.stderr}`)
        return (await this.ready()) === 200
      },
      { what: "xserver is ready" },
    )
  }

  launch(): void {
    const args = [
      "packages/cli/bin/merlond.js",
      this.#settings.command ?? "xserver",
      ...["--config-file", join(this.folder, "config.yaml")],
      ...[
        "--state",
        join(this.folder, "state"),
        "--admin",
        `127.0.0.1:${this.admin}`,
        "--health",
        `127.0.0.1:${this.health}`,
      ],
      ...(this.#settings.args ?? []),
    ]
    const env = { ...process.env, ...this.#settings.env }
    const child = spawn("node", args, { stdio: ["ignore", "pipe", "pipe"], env })
    child.stderr.on("data", chunk => {
      this.stderr += chunk
    })
    child.stdout.on("data", chunk => {
      this.stdout += chunk
    })
    this.#child = child
    // Resolves after the last byte of its outputs, which may come after its end.
    this.#ended = new Promise(resolve => child.once("close", code => resolve(code)))
  }

  /** Replaces the configuration file; the process follows it by itself. */
  configure(changes: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changes }
    this.#configured++
    const { upstream, policies = [], tls, protocol = "http", more = {} } = this.#settings
    for (const [name, text] of Object.entries(tls ?? {})) writeFileSync(join(this.folder, `${name}.pem`), text)
    const files = Object.fromEntries(Object.keys(tls ?? {}).map(name => [name, `${name}.pem`]))
    this.write(
      JSON.stringify({
        workload: {
          namespace: "foo",
          name: "httpbin-1",
          labels: { app: "httpbin", configured: `${this.#configured}` },
        },
        ports: [{ port: 8080, protocol, listen: { host: "127.0.0.1", port: this.port }, upstream: { port: upstream } }],
        policies,
        ...(tls === undefined ? {} : { tls: files }),
        ...more,
      }),
    )
  }

  write(text: string): void {
    const file = join(this.folder, "config.yaml")
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }

  /** Waits until the last configuration is enforced, however often the file was read before it was complete. */
  async enforced(): Promise<void> {
    await eventually(async () => JSON.stringify((await this.adminJson("/config_dump")).body).includes(this.#mark), {
      what: "xserver enforces the last configuration",
    })
  }

  /** Waits until a configuration was rejected. */
  async rejected(): Promise<void> {
    await eventually(async () => this.stderr.includes("configuration rejected"), {
      what: "xserver rejects the configuration",
    })
  }

  get #mark(): string {
    return `"configured":"${this.#configured}"`
  }

  ready(): Promise<number> {
    return status(`http://127.0.0.1:${this.health}/healthz/ready`)
  }

  async adminJson(path: string): Promise<{ status: number; body: never }> {
    const response = await fetch(`http://127.0.0.1:${this.admin}${path}`)
    return { status: response.status, body: (await response.json()) as never } // tests state the type that they expect
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.health}/metrics`)).text()
  }

  /** Closes the reading end of the access log. */
  stopReading(): void {
    this.#child?.stdout?.destroy()
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name)
  }

  exit(): Promise<number | null> {
    return this.#ended
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.exit()
  }

  async remove(): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

async function status(url: string): Promise<number> {
  try {
    return (await fetch(url)).status
  } catch {
    return 0
  }
}

export const document = (kind: string, name: string, spec: object, namespace = "foo"): object => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind,
  metadata: { name, namespace, creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
})

export const mode = (value: string): object => document("PeerAuthentication", "mode", { mtls: { mode: value } })
