// SPDX-License-Identifier: Apache-2.0
// The control plane's client, reflector and lease against a real API: the embedded cluster.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Cluster, startCluster } from "@merlon/cluster"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { connectionFrom } from "../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../packages/control/src/kubernetes/http-client.js"
import { LeaderElection } from "../../../packages/control/src/kubernetes/lease.js"
import { Reflector } from "../../../packages/control/src/kubernetes/reflector-loop.js"
import {
  CONFIG_MAPS,
  type KubernetesObject,
  LEASES,
  NAMESPACES,
  PODS,
  SERVICE_ACCOUNTS,
} from "../../../packages/control/src/kubernetes/resource-type.js"

describe("the client against the embedded cluster", () => {
  let folder: string
  let cluster: Cluster
  let client: HttpKubernetesClient
  let port: number

  const start = async (): Promise<void> => {
    cluster = await startCluster({ dataDir: join(folder, "cluster"), port })
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "control-"))
    port = await freePort()
    await start()
    const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
    client = httpClient(connection, { userAgent: "test", fieldManager: "test", pageSize: 3 })
    await client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } })
  })
  afterAll(async () => {
    await client.close()
    await cluster.close()
    await rm(folder, { recursive: true, force: true })
  })

  const configMap = (name: string, data: { [key: string]: string } = {}): KubernetesObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "foo" },
    data,
  })

  it("creates, reads, replaces, patches and deletes", async () => {
    const created = await client.create(CONFIG_MAPS, configMap("crud", { a: "1" }))
    await expect(client.create(CONFIG_MAPS, configMap("crud"))).rejects.toMatchObject({
      code: 409,
      reason: "AlreadyExists",
    })
    const replaced = await client.replace(CONFIG_MAPS, { ...created, data: { a: "2" } })
    expect(replaced).toMatchObject({ data: { a: "2" } })
    await expect(client.replace(CONFIG_MAPS, created)).rejects.toMatchObject({ code: 409, reason: "Conflict" })
    const at = { namespace: "foo" }
    expect(await client.patch(CONFIG_MAPS, "crud", { data: { b: "3" } }, at)).toMatchObject({
      data: { a: "2", b: "3" },
    })
    const json = [{ op: "remove", path: "/data/a" }]
    expect((await client.patch(CONFIG_MAPS, "crud", json, { ...at, type: "json" })).data).toEqual({ b: "3" })
    await client.patch(CONFIG_MAPS, "crud", configMap("crud", { c: "4" }), { ...at, type: "apply" })
    expect(await client.get(CONFIG_MAPS, "crud", "foo")).toMatchObject({ data: { b: "3", c: "4" } })
    expect(await client.delete(CONFIG_MAPS, "crud", "foo")).toBe(true)
    expect(await client.delete(CONFIG_MAPS, "crud", "foo")).toBe(false)
    expect(await client.get(CONFIG_MAPS, "crud", "foo")).toBeUndefined()
  })

  it("stores nothing on a dry run, writes status apart, and asks for tokens", async () => {
    const pod: KubernetesObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", namespace: "foo" },
      spec: { containers: [{ name: "app", image: "app" }] },
    }
    await client.create(PODS, pod, { dryRun: true })
    expect(await client.get(PODS, "p", "foo")).toBeUndefined()
    await client.create(PODS, pod)
    await client.patch(PODS, "p", { status: { podIP: "10.0.0.1" } }, { namespace: "foo", subresource: "status" })
    expect(await client.get(PODS, "p", "foo")).toMatchObject({ status: { podIP: "10.0.0.1" } })
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace: "foo" } }
    await client.create(SERVICE_ACCOUNTS, account)
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: ["x"] } }
    const answer = await client.createSubresource<{ status: { token: string } }>(
      SERVICE_ACCOUNTS,
      "a",
      "token",
      request,
      "foo",
    )
    expect(answer.status.token.split(".")).toHaveLength(3)
  })

  it("pages through lists, and starts again when the pages have expired", async () => {
    const names = Array.from({ length: 10 }, (_, at) => `page-${at}`)
    for (const name of names) await client.create(CONFIG_MAPS, configMap(name))
    const { items } = await client.list(CONFIG_MAPS, { namespace: "foo" })
    expect(items.map(({ metadata }) => metadata.name).filter(name => name.startsWith("page-"))).toEqual(names)
    expect(items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" })
  })

  it("follows changes, across expired history and a server outage", async () => {
    const reflector = new Reflector<KubernetesObject>({ client, type: CONFIG_MAPS, namespace: "foo" })
    const keys: string[] = []
    reflector.onChange(({ key, object }) => keys.push(`${key} ${object === undefined ? "gone" : "there"}`))
    await reflector.start().synced
    await client.create(CONFIG_MAPS, configMap("seen"))
    await expect.poll(() => keys.includes("foo/seen there")).toBe(true)
    await cluster.close()
    await expect.poll(() => reflector.health.connected).toBe(false)
    expect(reflector.items.has("foo/seen")).toBe(true)
    await start()
    await client.delete(CONFIG_MAPS, "seen", "foo")
    await cluster.compact()
    await expect.poll(() => keys.includes("foo/seen gone")).toBe(true)
    expect(reflector.health.connected).toBe(true)
    await reflector.stop()
  })

  it("elects one of two as leader, and the other after it", async () => {
    // Longer than a busy machine could delay a renewal: the other takes over only because the Lease was released.
    const terms = { durationMs: 60_000, renewDeadlineMs: 40_000, retryMs: 100 }
    const options = { client, namespace: "foo", name: "lead", ...terms }
    const [a, b] = [
      new LeaderElection({ ...options, identity: "a" }),
      new LeaderElection({ ...options, identity: "b" }),
    ]
    a.start()
    await expect.poll(() => a.isLeader).toBe(true)
    b.start()
    expect(await client.get(LEASES, "lead", "foo")).toMatchObject({
      spec: { holderIdentity: "a", leaseTransitions: 0 },
    })
    await a.stop()
    await expect.poll(() => b.isLeader).toBe(true)
    expect(await client.get(LEASES, "lead", "foo")).toMatchObject({
      spec: { holderIdentity: "b", leaseTransitions: 1 },
    })
    await b.stop()
  })
})
