// SPDX-License-Identifier: Apache-2.0
//
// The informer of @kubernetes/client-node against this server, across a restart: it keeps its cache correct and misses
// no change.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node"
import { eventually } from "@merlon/wire/testing"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Cluster, startCluster } from "./cluster.js"

let folder: string
let cluster: Cluster

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "informer-"))
  cluster = await startCluster({ dataDir: folder, port: 0 })
})

afterAll(async () => {
  await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

it("keeps an informer's cache correct across a restart of the server", async () => {
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfigPath)
  const api = config.makeApiClient(CoreV1Api)
  const namespace = "default"
  const create = (name: string): Promise<V1ConfigMap> =>
    api.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })
  const known = new Map<string, string>()
  const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    api.listNamespacedConfigMap({ namespace }),
  )
  const remember = (map: V1ConfigMap): void => void known.set(map.metadata?.name ?? "", map.data?.k ?? "")
  informer.on("add", remember)
  informer.on("update", remember)
  informer.on("delete", map => void known.delete(map.metadata?.name ?? ""))
  let stopped = false
  informer.on("error", () => {
    // The client's documentation says to restart after an error.
    if (!stopped) setTimeout(() => void informer.start().catch(() => undefined), 200)
  })
  await informer.start()
  await create("a")
  await create("b")
  await eventually(() => known.has("a") && known.has("b"), { what: "a and b are known" })
  const { port } = cluster
  const before = cluster.revision()
  await cluster.close()
  cluster = await startCluster({ dataDir: folder, port })
  expect(cluster.revision()).toBeGreaterThanOrEqual(before)
  await create("c")
  await api.deleteNamespacedConfigMap({ name: "a", namespace })
  await api.replaceNamespacedConfigMap({ name: "b", namespace, body: { metadata: { name: "b" }, data: { k: "2" } } })
  await eventually(() => known.has("c") && !known.has("a") && known.get("b") === "2", {
    what: "the informer knows the changes",
  })
  stopped = true
  await informer.stop()
})
