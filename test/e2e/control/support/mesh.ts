// SPDX-License-Identifier: Apache-2.0
// A whole mesh for a test: a control plane process with its own folder, its cluster, and workloads that the test
// declares. `close` ends everything that was started.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubernetesObject } from "../../../../packages/control/src/kubernetes/resource-type.js"
import { BareProxy } from "./bare-proxy.js"
import { ClusterApi, names } from "./cluster-api.js"
import { ClusterProcess, ControlProcess } from "./control-process.js"
import { CountingRelay } from "./counting-relay.js"
import { type Declaration, DeclaredWorkload } from "./declared-workload.js"
import { accountKubeconfig, GIVEN_CLUSTER } from "./test-cluster.js"

export interface MeshOptions {
  readonly args?: readonly string[]
  /** Runs the cluster in a separate process. */
  readonly separateCluster?: boolean
  /** Administrator's kubeconfig of an existing cluster. */
  readonly administrator?: string | undefined
  /** Environment of the control plane's process. */
  readonly env?: { readonly [name: string]: string }
}

export class Mesh {
  readonly folder: string
  readonly control: ControlProcess
  readonly api: ClusterApi
  readonly #cluster: ClusterProcess | undefined
  readonly #closers: (() => unknown)[] = []

  private constructor(
    folder: string,
    control: ControlProcess,
    cluster: ClusterProcess | undefined,
    administrator: string,
  ) {
    this.folder = folder
    this.control = control
    this.#cluster = cluster
    this.api = new ClusterApi(administrator, folder)
  }

  static async start(options: MeshOptions = {}): Promise<Mesh> {
    const { args = [], separateCluster = false, administrator = GIVEN_CLUSTER, env = {} } = options
    const folder = mkdtempSync(join(tmpdir(), "merlon-mesh-"))
    const isOurs = administrator === undefined
    const cluster = separateCluster && isOurs ? await ClusterProcess.start(folder) : undefined
    const kubeconfig = isOurs ? cluster?.kubeconfig : await accountKubeconfig(administrator, folder)
    const control = await ControlProcess.start(folder, {
      args,
      env,
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
    })
    return new Mesh(folder, control, cluster, administrator ?? control.kubeconfig)
  }

  get cluster(): ClusterProcess {
    if (this.#cluster === undefined) throw new Error("the cluster is no process of its own here")
    return this.#cluster
  }

  /** Another replica on the same cluster. */
  async replica(args: readonly string[] = []): Promise<ControlProcess> {
    const control = await ControlProcess.start(this.folder, { kubeconfig: this.control.kubeconfig, args })
    this.#closers.push(() => control.kill())
    return control
  }

  async declare(name: string, more: Partial<Declaration> = {}): Promise<DeclaredWorkload> {
    const declaration: Declaration = {
      name,
      namespace: "foo",
      labels: { app: name },
      serviceAccount: name,
      meshPort: this.control.meshPort,
      ...more,
    }
    const workload = await DeclaredWorkload.declare(this.api, declaration, join(this.folder, "workloads", name))
    this.#closers.push(() => workload.close())
    return workload
  }

  /** Declares and runs an xserver. */
  async workload(
    name: string,
    more: Partial<Declaration> = {},
    env: { readonly [name: string]: string } = {},
  ): Promise<DeclaredWorkload> {
    const workload = await this.declare(name, more)
    await workload.run(env)
    return workload
  }

  /** Declares a workload and simulates its xserver. */
  async bareProxy(name: string, more: Partial<Declaration> = {}, metadata: object = {}): Promise<BareProxy> {
    const proxy = new BareProxy(await this.declare(name, more), metadata)
    this.#closers.push(() => proxy.close())
    return proxy.ready()
  }

  async relay(target = this.control.meshPort): Promise<CountingRelay> {
    const relay = await CountingRelay.start(target)
    this.#closers.push(() => relay.close())
    return relay
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
    await this.api.close()
    await this.control.kill()
    await this.#cluster?.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function policy(kind: string, name: string, spec: object, namespace = "foo"): KubernetesObject {
  return {
    apiVersion: `${names.securityGroup}/${names.version}`,
    kind,
    metadata: { name, namespace },
    spec,
  }
}

/** Denies a path, on the workloads with the label or in the whole namespace. */
export function deny(name: string, path: string, app?: string, namespace = "foo"): KubernetesObject {
  return policy(
    "AuthorizationPolicy",
    name,
    {
      ...(app === undefined ? {} : { selector: { matchLabels: { app } } }),
      action: "DENY",
      rules: [{ to: [{ operation: { paths: [path] } }] }],
    },
    namespace,
  )
}
