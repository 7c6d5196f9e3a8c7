// SPDX-License-Identifier: Apache-2.0
// A machine of a mesh without Kubernetes: a control plane with an embedded API server, on a shared etcd. It is one
// process, so all of it dies together, like a machine.

import { cpSync } from "node:fs"
import { join } from "node:path"
import { Program } from "../../e2e/control/support/program.js"

export interface SharedPorts {
  readonly api: number
  readonly mesh: number
  readonly webhook: number
  readonly health: number
}

export interface MachineOptions {
  readonly folder: string
  /** The machine's own address; ports are the same on every machine. */
  readonly address: string
  /** The address that proxies, clients and API servers use: the load balancer. */
  readonly sharedAddress: string
  readonly ports: SharedPorts
  readonly etcd: readonly string[]
}

export class EtcdMachine {
  #program: Program | undefined

  constructor(readonly options: MachineOptions) {}

  get kubeconfig(): string {
    return join(this.#data, "cluster", "kubeconfig")
  }

  /** Copies the keys as an administrator would, once, before the first start. */
  takeKeysOf(other: EtcdMachine): void {
    cpSync(join(other.#data, "cluster", "pki"), join(this.#data, "cluster", "pki"), { recursive: true })
  }

  async run(): Promise<void> {
    await this.launch().printed(/^proxies\s+:(\d+)/m)
  }

  launch(): Program {
    const { address, sharedAddress, ports, etcd } = this.options
    this.#program = new Program([
      ...["serve", "--data", this.#data, "--no-console", "--replica", address],
      ...etcd.flatMap(endpoint => ["--etcd", endpoint]),
      ...["--listen", address, "--api-listen", address, "--serving-name", sharedAddress],
      ...["--api-port", `${ports.api}`, "--mesh-port", `${ports.mesh}`],
      ...["--webhook-port", `${ports.webhook}`, "--health-port", `${ports.health}`],
    ])
    return this.#program
  }

  get output(): string {
    return this.#program?.stderr ?? ""
  }

  async kill(): Promise<void> {
    await this.#program?.kill()
  }

  get #data(): string {
    return join(this.options.folder, this.options.address)
  }
}
