// SPDX-License-Identifier: Apache-2.0
// A real `merlond serve`, and a real `merlond cluster`, that keep their ports and data across restarts.

import { join } from "node:path"
import { freePort } from "../../../../packages/cluster/src/store/testing/free-port.js"
import { Program } from "./program.js"

export interface ControlOptions {
  /** If absent, it has an embedded cluster. */
  readonly kubeconfig?: string
  readonly args?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

export class ControlProcess {
  readonly #folder: string
  readonly #options: ControlOptions
  #program: Program | undefined
  meshPort = 0
  healthPort = 0
  webhookPort = 0
  apiPort = 0

  private constructor(folder: string, options: ControlOptions) {
    this.#folder = folder
    this.#options = options
  }

  static async start(folder: string, options: ControlOptions = {}): Promise<ControlProcess> {
    const control = new ControlProcess(folder, options)
    const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    ;[control.meshPort, control.healthPort, control.webhookPort, control.apiPort] = ports
    await control.run()
    return control
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error("the control plane does not run")
    return this.#program
  }

  get kubeconfig(): string {
    return this.#options.kubeconfig ?? join(this.#folder, "cluster", "kubeconfig")
  }

  /** Starts it, and resolves when it serves. */
  async run(more: readonly string[] = []): Promise<void> {
    this.launch(more)
    await this.program.printed(/^proxies\s+:(\d+)/m)
  }

  launch(more: readonly string[] = []): void {
    const { kubeconfig, args = [], env } = this.#options
    const all = [
      "serve",
      ...["--data", this.#folder, "--api-port", `${this.apiPort}`, "--mesh-port", `${this.meshPort}`],
      ...["--health-port", `${this.healthPort}`, "--webhook-port", `${this.webhookPort}`],
      // The issuers of tests are on this machine.
      "--allow-loopback-issuers",
      "--no-console",
      // A busy machine must not make a proof undecided.
      ...["--proof-budget", "5000"],
      ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
      ...args,
      ...more,
    ]
    this.#program = new Program(all, env)
  }

  async health(path: string): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.healthPort}${path}`)
      return { status: response.status, text: await response.text() }
    } catch {
      return { status: 0, text: "" }
    }
  }

  /** The value of the series with this name and these labels, in Prometheus format; 0 if there is none. */
  async metric(series: string): Promise<number> {
    const { text } = await this.health("/metrics")
    const line = text.split("\n").find(each => each.startsWith(`${series} `))
    return Number(line?.slice(series.length + 1) ?? 0)
  }

  async kill(): Promise<void> {
    await this.#program?.kill()
  }
}

export class ClusterProcess {
  readonly #folder: string
  readonly #port: number
  #program: Program | undefined

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
  }

  static async start(folder: string): Promise<ClusterProcess> {
    const cluster = new ClusterProcess(join(folder, "api"), await freePort())
    await cluster.run()
    return cluster
  }

  get kubeconfig(): string {
    return join(this.#folder, "kubeconfig")
  }

  async run(): Promise<void> {
    this.#program = new Program(["cluster", "--data", this.#folder, "--port", `${this.#port}`])
    await this.#program.printed(/^export KUBECONFIG/m)
  }

  signal(name: NodeJS.Signals): void {
    this.#program?.signal(name)
  }

  async kill(): Promise<void> {
    await this.#program?.kill()
  }
}
