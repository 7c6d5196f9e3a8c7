// SPDX-License-Identifier: Apache-2.0
// Installs into a real API, with the control plane's own account and only the permissions of its role.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshNames } from "@merlon/policy"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CRD_VERSION, install, installWebhooks } from "../../../packages/control/src/install/install.js"
import { bootstrapServiceAccount } from "../../../packages/control/src/install/service-account.js"
import { connectionFrom } from "../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../../packages/control/src/kubernetes/reflector-loop.js"
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubernetesObject,
  MUTATING_WEBHOOKS,
  NAMESPACES,
  PODS,
  policyTypes,
  SECRETS,
  TOKEN_REVIEWS,
  VALIDATING_WEBHOOKS,
} from "../../../packages/control/src/kubernetes/resource-type.js"
import { type TestCluster, testCluster } from "./support/test-cluster.js"

describe.each([
  ["merlon", "merlon.dev"],
  ["dubbo", "dubbo.apache.org"],
])("installing the mesh %s", (mesh, domain) => {
  const names = meshNames({ mesh, domain })
  const root = names.rootNamespace
  let folder: string
  let cluster: TestCluster
  let admin: HttpKubernetesClient
  let own: HttpKubernetesClient
  const options = { userAgent: "test", fieldManager: `${mesh}d` }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "install-"))
    cluster = await testCluster(folder)
    const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
    admin = httpClient(connection, { ...options, fieldManager: "admin" })
    own = httpClient(await bootstrapServiceAccount({ admin, connection, names }), options)
  })
  afterAll(async () => {
    await Promise.all([admin.close(), own.close()])
    await cluster.close()
    await rm(folder, { recursive: true, force: true })
  })

  const setup = (caBundle = "PEM one") => ({
    client: own,
    names,
    caBundle,
    webhook: { url: "https://127.0.0.1:1/" },
    capture: "service" as const,
  })

  /** Resource versions of everything that is installed. */
  const versions = async (): Promise<readonly (string | undefined)[]> => {
    const kinds = [CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS]
    const lists = await Promise.all(kinds.map(type => admin.list(type)))
    const ours = lists.flatMap(({ items }) => items).filter(({ metadata }) => isOurs(metadata.name))
    return ours.map(({ metadata }) => metadata.resourceVersion)
  }
  const isOurs = (name: string): boolean => name.endsWith(`.${domain}`) || name.startsWith(`${mesh}-`)

  it("serves our kinds afterwards, and writes nothing the second time", async () => {
    const first = await install(setup())
    expect(Object.values(first)).toEqual(Array(7).fill("created"))
    for (const type of Object.values(policyTypes(names))) expect((await own.list(type)).items).toEqual([])
    const before = await versions()
    expect(before).toHaveLength(7)
    expect(Object.values(await install(setup()))).toEqual(Array(7).fill("unchanged"))
    expect(await versions()).toEqual(before)
  })

  it("replaces the bundle when the trust changes and keeps what others wrote", async () => {
    const name = `${mesh}-validator`
    await admin.patch(VALIDATING_WEBHOOKS, name, { metadata: { labels: { theirs: "kept" } } })
    expect(Object.values(await installWebhooks(setup("PEM two")))).toEqual(["changed", "changed"])
    const found = await admin.get<
      KubernetesObject & { webhooks: [{ clientConfig: { caBundle: string; url: string } }] }
    >(VALIDATING_WEBHOOKS, name)
    expect(found?.metadata.labels).toMatchObject({ theirs: "kept" })
    const { caBundle, url } = found?.webhooks[0].clientConfig ?? { caBundle: "", url: "" }
    expect(Buffer.from(caBundle, "base64").toString()).toBe("PEM two")
    expect(url).toBe("https://127.0.0.1:1/validate")
    expect(await admin.get(MUTATING_WEBHOOKS, `${mesh}-injector`)).toBeDefined()
  })

  it("leaves kinds of a newer control plane alone, and reports that", async () => {
    const name = `peerauthentications.${names.securityGroup}`
    const annotations = { [`${domain}/crd-version`]: String(CRD_VERSION + 1) }
    await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, name, { metadata: { annotations } })
    const logged: string[] = []
    const result = await install({ ...setup("PEM two"), log: message => logged.push(message) })
    expect(result[name]).toBe("newer")
    expect(logged).toEqual([expect.stringContaining(`\`${name}\` is of version ${CRD_VERSION + 1}`)])
  })

  it("has the permissions it needs and no others", async () => {
    const object = (type: string, namespace: string, name: string, extra = {}): KubernetesObject => ({
      apiVersion: "v1",
      kind: type,
      metadata: { name, namespace },
      ...extra,
    })
    await own.list(NAMESPACES)
    await own.list(PODS)
    await own.create(SECRETS, object("Secret", root, "ca"))
    await own.patch(CONFIG_MAPS, `${mesh}-ca-root-cert`, object("ConfigMap", "default", `${mesh}-ca-root-cert`), {
      namespace: "default",
      type: "apply",
    })
    const fieldSelector = `metadata.name=${mesh}-ca-root-cert`
    const bundles = new Reflector<KubernetesObject>({ client: own, type: CONFIG_MAPS, fieldSelector })
    await bundles.start().synced
    expect([...bundles.items.keys()]).toEqual([`default/${mesh}-ca-root-cert`])
    await admin.delete(CONFIG_MAPS, `${mesh}-ca-root-cert`, "default")
    await expect.poll(() => bundles.items.size).toBe(0)
    await bundles.stop()
    const review = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: { name: "" },
      spec: { token: "x" },
    }
    expect(await own.create(TOKEN_REVIEWS, review)).toMatchObject({ status: { error: expect.any(String) } })
    const forbidden = { code: 403, reason: "Forbidden" }
    await expect(own.list(SECRETS)).rejects.toMatchObject(forbidden)
    await expect(own.get(SECRETS, "x", "default")).rejects.toMatchObject(forbidden)
    await expect(own.get(CONFIG_MAPS, "x", "default")).rejects.toMatchObject(forbidden)
    await expect(own.delete(PODS, "x", "default")).rejects.toMatchObject(forbidden)
    await expect(own.create(NAMESPACES, object("Namespace", "", "x"))).rejects.toMatchObject(forbidden)
    const policies = policyTypes(names).AuthorizationPolicy
    await expect(own.delete(policies, "x", "default")).rejects.toMatchObject(forbidden)
  })
})
