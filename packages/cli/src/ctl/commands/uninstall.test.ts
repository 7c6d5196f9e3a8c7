// SPDX-License-Identifier: Apache-2.0
// `merlonctl uninstall --services` is the chart's post-delete hook, which `helm template | kubectl apply` runs at once.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Cluster, startCluster } from "@merlon/cluster"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { runProgram } from "../program.js"

const folder = mkdtempSync(join(tmpdir(), "merlon-uninstall-"))
const labels = { app: "a" }
const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "merlond", namespace: "merlon-system" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a:1" }] } },
  },
}
const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "default", annotations: { "merlon.dev/original-target-ports": '{"80":8080}' } },
  spec: { ports: [{ port: 80, targetPort: 15_080 }] },
}
let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster({ dataDir: join(folder, "data"), port: 0 })
})
afterAll(async () => {
  await cluster.close()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  process.exitCode = undefined
  vi.restoreAllMocks()
})

async function typed(...words: readonly string[]): Promise<string> {
  let out = ""
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation(text => {
      out += String(text)
      return true
    })
  }
  await runProgram([...words, "--kubeconfig", cluster.kubeconfigPath])
  return out
}

it("leaves Services captured while the control plane is installed, and releases them once it is gone", async () => {
  const file = join(folder, "objects.yaml")
  const space = { apiVersion: "v1", kind: "Namespace", metadata: { name: "merlon-system" } }
  writeFileSync(file, [space, DEPLOYMENT, SERVICE].map(object => JSON.stringify(object)).join("\n---\n"))
  await typed("apply", "-f", file)
  const targetPort = () => typed("get", "service", "web", "-n", "default", "-o", "json")
  expect(await typed("uninstall", "--services")).toContain("nothing to do: the control plane is installed")
  expect(await targetPort()).toContain(`"targetPort": 15080`)
  await typed("delete", "deployment", "merlond", "-n", "merlon-system")
  expect(await typed("uninstall", "--services")).toContain("service/web leads to its application again")
  expect(await targetPort()).toContain(`"targetPort": 8080`)
})
