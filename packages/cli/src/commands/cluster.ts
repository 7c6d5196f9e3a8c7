// SPDX-License-Identifier: Apache-2.0
// `merlond cluster`: the Kubernetes-compatible API server alone, on its embedded store or on etcd.

import { type Cluster, startCluster } from "@merlon/cluster"
import { messageOf } from "@merlon/xds/runtime"
import { Command, Option } from "commander"
import { pino } from "pino"
import { port, several } from "../arguments.js"
import { logDestination } from "../log-destination.js"
import { addClusterOidc, clusterOidc } from "../serve/cluster-oidc.js"
import { type EtcdFlags, etcdStore, withEtcdFlags } from "../serve/etcd-flags.js"
import { shellWord } from "../shell-word.js"

interface Flags extends EtcdFlags {
  readonly data: string
  readonly listen: string
  readonly port: number
  readonly name: readonly string[]
  readonly systemNamespace: readonly string[]
}

export function clusterCommand(): Command {
  const option = (flags: string, description: string, env: string): Option => new Option(flags, description).env(env)
  const command = new Command("cluster")
    .description("Serve the Kubernetes API without Kubernetes")
    .addOption(
      option("--data <folder>", "store, keys and kubeconfig", "MERLON_CLUSTER_DATA").default(".merlon/cluster"),
    )
    .addOption(option("--listen <host>", "address to listen on", "MERLON_CLUSTER_LISTEN").default("127.0.0.1"))
    .addOption(
      option("--port <n>", "port to listen on, 0 for any", "MERLON_CLUSTER_PORT").argParser(port).default(7443),
    )
    .addOption(
      new Option("--name <name>", "additional name in the serving certificate (repeatable)")
        .argParser(several)
        .default([], "none"),
    )
    .addOption(
      new Option(
        "--system-namespace <name>",
        "namespace whose service accounts have reserved slots, such as the control plane's (repeatable)",
      )
        .argParser(several)
        .default([], "kube-system and merlon-system"),
    )
  return addClusterOidc(withEtcdFlags(command)).action((flags: Flags) => run(flags))
}

async function run(flags: Flags): Promise<void> {
  const logger = pino({ base: null }, logDestination())
  const store = await etcdStore(flags, process.env)
  const cluster = await startCluster({
    dataDir: flags.data,
    host: flags.listen,
    port: flags.port,
    names: flags.name,
    systemNamespaces: flags.systemNamespace.length === 0 ? ["kube-system", "merlon-system"] : flags.systemNamespace,
    ...(store === undefined ? {} : { store }),
    ...(await clusterOidc(flags)),
    log: (error, request) => logger.error({ request, error: messageOf(error) }, "failed"),
  })
  process.stdout.write(`serving ${cluster.url}\nexport KUBECONFIG=${shellWord(cluster.kubeconfigPath)}\n`)
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop(cluster))
}

function stop(cluster: Cluster): void {
  cluster.close().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
