// SPDX-License-Identifier: Apache-2.0
// Runs the suites that otherwise use our own cluster against a real kube-apiserver: the same commands, the same
// results. Each suite has its own server. Arguments select files.

import { spawn } from "node:child_process"
import { startKubernetes } from "../test/kubernetes/kube-apiserver.js"

/** A file, and which of its parts if they cannot share a server. */
const SUITES: readonly (readonly [file: string, part?: string])[] = [
  ["packages/cluster/src/kubectl.test.ts"],
  ["test/e2e/control/install.test.ts"],
  ["test/e2e/control/admission.test.ts", "mesh merlon"],
  ["test/e2e/control/admission.test.ts", "mesh dubbo"],
  ["test/e2e/control/one-mesh.test.ts", "admission by a running control plane"],
  ["test/e2e/control/control-plane.test.ts"],
  ["test/e2e/control/distribution.test.ts"],
  ["test/e2e/control/key-sets.test.ts"],
  ["test/e2e/control/operations.test.ts"],
  ["test/e2e/control/one-mesh.test.ts", "propagation of a policy change"],
  ["test/e2e/control/one-mesh.test.ts", "revocation"],
  ["test/e2e/control/status.test.ts"],
  ["test/resilience/control-restart.test.ts"],
  ["test/resilience/control-renewal.test.ts"],
  ["test/resilience/control-rotation.test.ts"],
  ["test/e2e/cli/merlonctl.test.ts"],
  ["test/e2e/cli/workload.test.ts"],
  // Also starts its own server, to kill it.
  ["test/kubernetes/server-away.test.ts"],
]

const assets = process.env.KUBEBUILDER_ASSETS ?? ""
if (assets === "") {
  console.error("KUBEBUILDER_ASSETS must name a folder with `etcd` and `kube-apiserver`, as envtest's setup makes one")
  process.exit(1)
}
const chosen = process.argv.slice(2)
const failed: string[] = []
for (const [file, part] of SUITES) {
  if (chosen.length > 0 && !chosen.some(word => file.includes(word))) continue
  const kubernetes = await startKubernetes(assets, { accounts: true })
  const suite = spawn("npx", ["vitest", "run", file, ...(part === undefined ? [] : ["-t", part])], {
    stdio: "inherit",
    env: { ...process.env, CLUSTER_KUBECONFIG: kubernetes.kubeconfigPath, CLUSTER_CONTROLLERS: "none" },
  })
  const code = await new Promise<number>(resolve => suite.once("exit", status => resolve(status ?? 1)))
  await kubernetes.stop()
  if (code !== 0) failed.push(part === undefined ? file : `${file} (${part})`)
}
if (failed.length > 0) {
  console.error(`failed on kube-apiserver:\n${failed.join("\n")}`)
  process.exitCode = 1
}
