// SPDX-License-Identifier: Apache-2.0
// The setup of every suite except the page's: the mesh from the chart, the samples' workloads, and a caller outside the
// mesh. Each suite ensures it, so that any of them can run alone. An existing setup costs a few seconds.

import { apply, install, kubectl, ready, sample, startCaller } from "./cluster.js"

const WORKLOADS = [
  ["httpbin", "foo"],
  ["web-v1", "app"],
  ["web-v2", "app"],
  ["consumer", "app"],
] as const

export async function startMesh(): Promise<void> {
  await install()
  await startCaller()
  await apply(sample("manifests/httpbin.yaml"), sample("manifests/web.yaml"), sample("manifests/consumer.yaml"))
  for (const [name, namespace] of WORKLOADS) await ready("deploy", name, namespace)
}

/** Restarts every Pod of `web`, one after the other. */
export async function startWebAgain(): Promise<void> {
  const web = ["web-v1", "web-v2"]
  await kubectl("rollout", "restart", ...web.map(name => `deploy/${name}`), "-n", "app")
  for (const name of web) await ready("deploy", name, "app")
}
