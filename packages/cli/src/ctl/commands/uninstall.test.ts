// SPDX-License-Identifier: Apache-2.0
// `merlonctl uninstall --services` is the chart's post-delete hook, which `helm template | kubectl apply` runs at once.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Cluster, startCluster } from "@merlon/cluster"
import { installManifests, readValues } from "@merlon/control/install"
import { afterAll, beforeAll, expect, it } from "vitest"
import { typed } from "../testing/typed.js"

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
async function printed(...words: readonly string[]): Promise<string> {
  const { out, err } = await typed([...words, "--kubeconfig", cluster.kubeconfigPath])
  return out + err
}

it("releases captured Services only after the control plane is gone", async () => {
  const file = join(folder, "objects.yaml")
  const space = { apiVersion: "v1", kind: "Namespace", metadata: { name: "merlon-system" } }
  writeFileSync(file, [space, DEPLOYMENT, SERVICE].map(object => JSON.stringify(object)).join("\n---\n"))
  await printed("apply", "-f", file)
  const targetPort = () => printed("get", "service", "web", "-n", "default", "-o", "json")
  expect(await printed("uninstall", "--services")).toContain("nothing to do: the control plane is installed")
  expect(await targetPort()).toContain(`"targetPort": 15080`)
  await printed("delete", "deployment", "merlond", "-n", "merlon-system")
  expect(await printed("uninstall", "--services")).toContain("service/web leads to its application again")
  expect(await targetPort()).toContain(`"targetPort": 8080`)
})

it("removes the authorizer from any namespace", async () => {
  const file = join(folder, "authorizer.yaml")
  const spaces = ["merlon-system", "edge"].map(name => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }))
  const objects = installManifests(readValues("1", { authorizer: { enabled: true, namespace: "edge" } }))
  const authorizer = objects.filter(({ metadata }) => metadata.namespace === "edge")
  expect(authorizer.map(({ kind }) => kind).sort()).toEqual(["Deployment", "Service", "ServiceAccount"])
  const foreign = { ...DEPLOYMENT, metadata: { name: "merlon-authorizer-of-mine", namespace: "edge" } }
  writeFileSync(file, [...spaces, ...authorizer, foreign].map(object => JSON.stringify(object)).join("\n---\n"))
  await printed("apply", "-f", file)
  const result = await printed("uninstall", "--keep-namespace")
  for (const kind of ["deployment.apps", "service", "serviceaccount"])
    expect(result).toContain(`${kind}/merlon-authorizer deleted`)
  expect(result).not.toContain("of-mine")
  expect(await printed("get", "deployments", "-n", "edge")).toContain("merlon-authorizer-of-mine")
})
