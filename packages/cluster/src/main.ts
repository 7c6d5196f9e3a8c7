// SPDX-License-Identifier: Apache-2.0
// The cluster as a program: `node main.js --data DIR [--listen HOST] [--port N] [--name NAME]...`, with `--etcd URL...`
// to use an etcd that several servers may share (copy DIR/pki to each of them), and with kube-apiserver's `--oidc-...`
// flags to accept ID tokens. Prints one line of JSON when it is ready; SIGTERM and SIGINT stop it cleanly.

import { parseArgs } from "node:util"
import { clusterOidcOptions, oidcFlags } from "./auth/oidc-flags.js"
import { startCluster } from "./cluster.js"
import { ClusterError } from "./errors.js"
import { etcdFlags, etcdOptions } from "./store/etcd/flags.js"
import { openEtcdStore } from "./store/etcd/open.js"

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", default: ".merlon/cluster" },
      listen: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "7443" },
      name: { type: "string", multiple: true, default: [] },
      ...etcdFlags,
      ...oidcFlags,
    },
  })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new ClusterError("invalid-flag", `\`--port ${values.port}\` is not a port number; use 0 to 65535`)
  const etcd = etcdOptions(values, process.env)
  const oidc = clusterOidcOptions(values)
  const cluster = await startCluster({
    ...(etcd === undefined ? {} : { store: await openEtcdStore(etcd) }),
    ...(oidc === undefined ? {} : { oidc }),
    dataDir: values.data,
    host: values.listen,
    port,
    names: values.name,
    log: (error, request) =>
      console.error(
        JSON.stringify({
          level: "error",
          request,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
      ),
  })
  console.log(JSON.stringify({ ready: true, url: cluster.url, kubeconfig: cluster.kubeconfigPath, pid: process.pid }))
  let stopping = false
  const stop = (): void => {
    if (stopping) return
    stopping = true
    cluster.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

main().catch((error: unknown) => {
  console.error(error instanceof ClusterError ? `${error.code}: ${error.message}` : error)
  process.exit(1)
})
