// SPDX-License-Identifier: Apache-2.0
// Runs the kubectl suite of the embedded cluster against a real kube-apiserver: the same commands, the same outcomes.

import { spawn } from "node:child_process"
import { startKubernetes } from "../test/kubernetes/kube-apiserver.js"

const assets = process.env.KUBEBUILDER_ASSETS ?? ""
if (assets === "") {
  console.error("KUBEBUILDER_ASSETS must name a folder with `etcd` and `kube-apiserver`, as envtest's setup makes one")
  process.exit(1)
}
const kubernetes = await startKubernetes(assets)
const suite = spawn("npx", ["vitest", "run", "packages/cluster/src/kubectl.test.ts"], {
  stdio: "inherit",
  env: { ...process.env, CLUSTER_KUBECONFIG: kubernetes.kubeconfigPath, CLUSTER_CONTROLLERS: "none" },
})
const code = await new Promise<number>(resolve => suite.once("exit", status => resolve(status ?? 1)))
await kubernetes.stop()
process.exit(code)
