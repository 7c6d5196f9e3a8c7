// SPDX-License-Identifier: Apache-2.0
// From documents in a real API to a proxy on a real stream, and back to the documents' status: registry, views,
// distribution, presence and reports together.

import { generateKeyPairSync } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CertificateAuthority, createRoot } from "@merlon/identity"
import { meshConfig } from "@merlon/policy"
import { PROXY_RESOURCE } from "@merlon/xds"
import { MeshClient, type Update } from "@merlon/xds/client"
import { type Caller, MeshServer } from "@merlon/xds/server"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { CombinedLedger } from "../../../packages/control/src/distribution/combined-ledger.js"
import { ConnectedProxies } from "../../../packages/control/src/distribution/connected-proxies.js"
import { Distribution } from "../../../packages/control/src/distribution/distribution.js"
import { InternedVersions } from "../../../packages/control/src/distribution/interned-versions.js"
import type { ProxyLedger } from "../../../packages/control/src/distribution/ledger.js"
import { DeclaredPresence } from "../../../packages/control/src/distribution/presence.js"
import { ReplicaReporter, reportLabel } from "../../../packages/control/src/distribution/replica-reporter.js"
import { installDefinitions } from "../../../packages/control/src/install/install.js"
import { connectionFrom } from "../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../../packages/control/src/kubernetes/reflector-loop.js"
import {
  CONFIG_MAPS,
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SERVICE_ACCOUNTS,
  SERVICES,
  TOKEN_REVIEWS,
} from "../../../packages/control/src/kubernetes/resource-type.js"
import { DeletedPolicies } from "../../../packages/control/src/policies/deleted-policies.js"
import { feedPolicies } from "../../../packages/control/src/policies/policies-feed.js"
import { StoredPolicies } from "../../../packages/control/src/policies/stored-policies.js"
import { Registry } from "../../../packages/control/src/registry/registry.js"
import { feedRegistry } from "../../../packages/control/src/registry/registry-feed.js"
import { ManualKeySets } from "../../../packages/control/src/snapshot/testing/manual-sources.js"
import { WorkloadViews } from "../../../packages/control/src/snapshot/workload-views.js"
import { type TestCluster, testCluster } from "./support/test-cluster.js"

const mesh = meshConfig()
const { names } = mesh
const types = policyTypes(names)
const AUDIENCE = names.tokenAudience
const DAY_MS = 86_400_000

let folder: string
let cluster: TestCluster
let client: HttpKubernetesClient
let server: MeshServer
let proxies: ConnectedProxies
const authority = new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now: Date.now() }), Date.now())
const versions = new InternedVersions()
const rejected: string[] = []
const stops: (() => unknown)[] = []
const clients: MeshClient[] = []

function serverCredentials() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { certificateChain } = authority.signServer({
    publicKey: publicKey.export({ type: "spki", format: "der" }),
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    ttlMs: DAY_MS,
    now: Date.now(),
  })
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  return { certificateChain, privateKey: key, clientTrustBundle: authority.bundle }
}

/** Like a token review of the API server. */
async function verifyToken(token: string): Promise<Caller | undefined> {
  const review = await client.create<KubernetesObject>(TOKEN_REVIEWS, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: { name: "" },
    spec: { token, audiences: [AUDIENCE] },
  })
  const { authenticated, user } = review.status as {
    authenticated?: boolean
    user: { username: string; extra?: { [key: string]: string[] } }
  }
  const [, , namespace, serviceAccount] = user?.username.split(":") ?? []
  if (authenticated !== true || namespace === undefined || serviceAccount === undefined) return undefined
  const pod = user.extra?.["authentication.kubernetes.io/pod-name"]?.[0]
  const caller = { trustDomain: "cluster.local", namespace, serviceAccount, proof: "token" as const }
  return pod === undefined ? caller : { ...caller, pod }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "distribution-"))
  cluster = await testCluster(folder)
  const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
  client = httpClient(connection, { userAgent: "test", fieldManager: "test" })
  for (const name of ["foo", names.rootNamespace]) {
    await client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  }
  const web = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "foo" } }
  await client.create(SERVICE_ACCOUNTS, web)
  await installDefinitions({ client, names })

  const reflect = (type: ResourceType) => {
    const reflector = new Reflector<KubernetesObject>({ client, type }).start()
    stops.push(() => reflector.stop())
    return reflector
  }
  const pods = reflect(PODS)
  const registry = new Registry({ names })
  const trust = {
    current: { bundle: authority.bundle, signer: authority.fingerprint, revokedIdentities: [], revokedSerials: [] },
    onChange: () => () => {},
  }
  const policies = new StoredPolicies({ names, onInvalid: ({ key }) => expect.unreachable(key) })
  const views = new WorkloadViews({ mesh, policies, directory: registry, keySets: new ManualKeySets(), trust })
  const fed = feedRegistry(registry, { pods, services: reflect(SERVICES) })
  const sources = {
    RequestAuthentication: reflect(types.RequestAuthentication),
    AuthorizationPolicy: reflect(types.AuthorizationPolicy),
    PeerAuthentication: reflect(types.PeerAuthentication),
    PolicyInvariant: reflect(types.PolicyInvariant),
    MeshService: reflect(types.MeshService),
  }
  const warn = (message: string): never => expect.unreachable(message)
  const deletedPolicies = new DeletedPolicies({ policies, client, directory: registry, names, warn })
  const feeding = feedPolicies(policies, sources, key => deletedPolicies.deleted(key))
  proxies = new ConnectedProxies()
  const onError = (key: string, error: unknown): never => expect.unreachable(`${key}: ${String(error)}`)
  const presence = new DeclaredPresence({ client, pods, names, replica: "r1", onError, graceMs: 200 })
  const routes = { serves: () => false, watch: () => expect.unreachable("nobody asks for routes") }
  const readAgain = async (): Promise<void> => {
    await Promise.all([...Object.values(sources), pods].map(copy => copy.refresh()))
    views.settle()
  }
  const distribution = new Distribution({
    mesh,
    directory: registry,
    trust,
    views,
    proxies,
    routes,
    presence,
    readAgain,
  })
  stops.push(
    () => presence.stop(),
    () => distribution.stop(),
    () => feeding.stop(),
    () => deletedPolicies.stop(),
    () => fed.stop(),
    () => views.stop(),
  )
  await Promise.all([feeding.synced, fed.synced])
  views.begin()
  server = await MeshServer.start({
    host: "127.0.0.1",
    port: 0,
    credentials: serverCredentials,
    verifyToken,
    checkCertificate: () => undefined,
    source: distribution,
    sign: async () => ({ code: "PERMISSION_DENIED", message: "nothing is signed here" }),
    report: () => {},
    observe: { denied: code => void rejected.push(code) },
  })
})

afterEach(() => {
  for (const proxy of clients.splice(0)) proxy.close()
})

afterAll(async () => {
  await server?.close()
  for (const stop of stops) await stop()
  await client?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

async function declare(name: string, namespace = "foo", finalizers: readonly string[] = []): Promise<string> {
  const pod = await client.create<KubernetesObject>(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      finalizers,
      labels: { app: name },
      annotations: { [`${names.domain}/workload`]: "declared" },
    },
    spec: {
      serviceAccountName: "web",
      containers: [{ name: "app", image: "none", ports: [{ containerPort: 8080, name: "http" }] }],
    },
  })
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name, uid: pod.metadata.uid }
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [AUDIENCE], boundObjectRef },
  }
  const answer = await client.createSubresource<KubernetesObject>(SERVICE_ACCOUNTS, "web", "token", request, namespace)
  return (answer.status as { token: string }).token
}

function connect(id: string, token: string, apply: (update: Update) => Promise<void> = async () => {}) {
  const held = new Map<string, string>()
  const proxy = new MeshClient({
    address: `127.0.0.1:${server.port}`,
    serverName: "localhost",
    trustBundle: () => authority.bundle,
    proof: () => ({ token }),
    node: { id, metadata: () => ({ address: "127.1.0.1", signer: authority.fingerprint }) },
    limits: { firstRetryMs: 20, retryMs: 20, longestRetryMs: 50 },
    subscriptions: [
      {
        typeUrl: PROXY_RESOURCE,
        names: () => "*",
        known: () => held,
        apply: async update => {
          await apply(update)
          for (const { name, version } of update.resources) held.set(name, version)
          for (const name of update.removed) held.delete(name)
        },
      },
    ],
  })
  clients.push(proxy)
  proxy.start()
  return { proxy, held }
}

const readiness = async (name: string): Promise<unknown> => {
  const pod = await client.get<KubernetesObject>(PODS, name, "foo")
  const { phase, podIP, conditions } = (pod?.status ?? {}) as {
    phase?: string
    podIP?: string
    conditions?: { type: string; status: string }[]
  }
  return [phase, podIP, conditions?.find(({ type }) => type === "Ready")?.status]
}

const policy = (name: string, app: string, namespace = "foo"): KubernetesObject => ({
  apiVersion: `${names.securityGroup}/${names.version}`,
  kind: "AuthorizationPolicy",
  metadata: { name, namespace },
  spec: { selector: { matchLabels: { app } }, action: "DENY", rules: [{}] },
})

it("sends a declared workload its policies, and receives its acknowledgements", async () => {
  const token = await declare("one")
  const { proxy, held } = connect("foo/one", token)
  await vi.waitFor(() => expect([...held.keys()].sort()).toEqual(["trust", "workload"]), 90_000)
  await expect.poll(() => readiness("one")).toEqual(["Running", "127.1.0.1", "True"])

  const name = "policy/AuthorizationPolicy/foo/deny-one"
  await client.create(types.AuthorizationPolicy, policy("deny-one", "one"))
  await vi.waitFor(() => expect(held.has(name)).toBe(true), 90_000)
  await vi.waitFor(
    () => expect(proxies.proxies.get("foo/one")?.enforced.get(name)?.version).toBe(held.get(name)),
    90_000,
  )
  expect(proxies.proxies.get("foo/one")?.signer).toBe(authority.fingerprint)

  await client.delete(types.AuthorizationPolicy, "deny-one", "foo")
  await vi.waitFor(() => expect(proxies.proxies.get("foo/one")?.enforced.has(name)).toBe(false), 90_000)

  proxy.close()
  await expect.poll(() => readiness("one")).toEqual(["Running", "127.1.0.1", "False"])
  expect(proxies.proxies.has("foo/one")).toBe(false)
})

it("keeps the configuration of a proxy that rejects a new one, and the rejection", async () => {
  const token = await declare("two")
  const name = "policy/AuthorizationPolicy/foo/deny-two"
  const { held } = connect("foo/two", token, async ({ resources }) => {
    if (resources.some(resource => resource.name === name)) throw new Error("cannot compile this")
  })
  await vi.waitFor(() => expect(proxies.proxies.get("foo/two")?.enforced.size).toBe(2), 90_000)
  await client.create(types.AuthorizationPolicy, policy("deny-two", "two"))
  await vi.waitFor(() => {
    const { rejection } = proxies.proxies.get("foo/two") ?? {}
    expect(rejection?.message).toContain("cannot compile this")
    expect([...(rejection?.resources ?? [])]).toEqual([name])
  }, 90_000)
  expect(held.has(name)).toBe(false)
})

it("gives a token bound to one pod no access to another's", async () => {
  const token = await declare("three")
  await declare("four")
  rejected.length = 0
  const { held } = connect("foo/four", token)
  await vi.waitFor(() => expect(rejected).toContain("PERMISSION_DENIED"), 90_000)
  expect(held.size).toBe(0)
  expect(proxies.proxies.has("foo/four")).toBe(false)
})

it("keeps a namespace's policies enforced while it is being deleted and one of its Pods still runs", async () => {
  const doomed = "doomed"
  await client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: doomed } })
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: doomed } }
  await client.create(SERVICE_ACCOUNTS, account)
  // A finalizer delays the Pod, as a long grace period would.
  const token = await declare("six", doomed, ["example.com/slow"])
  await client.create(types.AuthorizationPolicy, policy("deny-six", "six", doomed))
  const name = `policy/AuthorizationPolicy/${doomed}/deny-six`
  const removed: string[] = []
  const { held } = connect(`${doomed}/six`, token, async update => void removed.push(...update.removed))
  await vi.waitFor(() => expect(held.has(name)).toBe(true), 90_000)

  await client.delete(NAMESPACES, doomed)
  // This cluster deletes a namespace's Pods first. Here its other objects go before them, as may happen elsewhere.
  await client.delete(types.AuthorizationPolicy, "deny-six", doomed)
  await expect.poll(() => client.get(types.AuthorizationPolicy, "deny-six", doomed)).toBeUndefined()
  // A later change that the workload receives: whatever the deletion sends has arrived by then.
  await client.create(types.AuthorizationPolicy, policy("deny-all-six", "six", names.rootNamespace))
  const later = `policy/AuthorizationPolicy/${names.rootNamespace}/deny-all-six`
  await vi.waitFor(() => expect(held.has(later)).toBe(true), 90_000)
  expect(held.has(name)).toBe(true)
  expect(removed).toEqual([])
  await client.delete(types.AuthorizationPolicy, "deny-all-six", names.rootNamespace)
  await vi.waitFor(() => expect(held.has(later)).toBe(false), 90_000)
  expect(held.has(name)).toBe(true)
  await client.patch(PODS, "six", { metadata: { finalizers: null } }, { namespace: doomed })
  await expect.poll(() => client.get(NAMESPACES, doomed)).toBeUndefined()
  expect(held.has(name)).toBe(true)
})

it("counts the proxies of another replica from its report", async () => {
  const { rootNamespace } = names
  const reports = new Reflector<KubernetesObject>({
    client,
    type: CONFIG_MAPS,
    namespace: rootNamespace,
    labelSelector: reportLabel(names),
  }).start()
  await reports.synced
  const own = new ConnectedProxies()
  const leader = new CombinedLedger({ own, reports, ownReport: `${rootNamespace}/merlon-replica-r0`, versions })
  const onError = (error: unknown): never => expect.unreachable(String(error))
  const owners = async () => []
  const reporter = new ReplicaReporter({ client, names, replica: "r1", ledger: proxies, owners, onError })
  reporter.start()
  connect("foo/five", await declare("five"))
  await vi.waitFor(() => {
    expect(leader.proxies.get("foo/five")?.enforced.size).toBe(2)
    expect(enforcedBy(leader, "foo/five")).toEqual(enforcedBy(proxies, "foo/five"))
  }, 90_000)
  await reporter.stop()
  await vi.waitFor(() => expect(leader.proxies.has("foo/five")).toBe(false), 90_000)
  leader.stop()
  await reports.stop()
})

/** Versions by name. */
function enforcedBy({ proxies }: ProxyLedger, key: string): ReadonlyMap<string, string> {
  return new Map([...(proxies.get(key)?.enforced ?? [])].map(([name, { version }]) => [name, version]))
}
