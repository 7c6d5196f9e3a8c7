// SPDX-License-Identifier: Apache-2.0
// The real API server as a process that can be killed. Started in advance, it waits for a line with its data folder,
// then serves and prints its address. Every further line triggers a garbage collection, for memory measurements.

import { createInterface } from "node:readline"
import { startCluster } from "../../../packages/cluster/src/cluster.js"
import { openEtcdStore } from "../../../packages/cluster/src/store/etcd/open.js"

export interface Order {
  dataDir: string
  /** The embedded store if absent. */
  etcd?: string
}

const lines = createInterface({ input: process.stdin })

// The parent process is gone.
lines.once("close", () => process.exit(0))

lines.once("line", line => {
  serve(JSON.parse(line) as Order).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})

async function serve({ dataDir, etcd }: Order): Promise<void> {
  const store = etcd === undefined ? {} : { store: await openEtcdStore({ endpoints: [etcd], timeoutMs: 60_000 }) }
  const cluster = await startCluster({ dataDir, port: 0, ...store })
  lines.on("line", () => {
    globalThis.gc?.()
    process.stdout.write("collected\n")
  })
  process.stdout.write(`${JSON.stringify({ url: cluster.url, kubeconfig: cluster.kubeconfigPath })}\n`)
}
