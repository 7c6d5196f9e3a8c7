// SPDX-License-Identifier: Apache-2.0
// Status as users see it: `kubectl wait` on a policy that proxies acknowledge, keys of a real issuer through failure,
// rotation and a restart, and events on the resource. Real API, real issuer, and the registry and views of the control
// plane; the test sends the proxies' acknowledgements itself.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type JwtRule, keySetId, meshConfig, type RequestAuthentication, type StatusCondition } from "@merlon/policy"
import { resourceNames } from "@merlon/xds"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { kubectl } from "../../../packages/cluster/src/testing/kubectl.js"
import { ConnectedProxies, type ProxySession } from "../../../packages/control/src/distribution/connected-proxies.js"
import { installDefinitions } from "../../../packages/control/src/install/install.js"
import { fetchJwks } from "../../../packages/control/src/keysets/fetch-jwks.js"
import { KeySetPersistence } from "../../../packages/control/src/keysets/key-set-persistence.js"
import { FetchedKeySets } from "../../../packages/control/src/keysets/key-set-store.js"
import { type Issuer, json, jwks, startIssuer, status } from "../../../packages/control/src/keysets/testing/issuer.js"
import { connectionFrom } from "../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../../packages/control/src/kubernetes/reflector-loop.js"
import {
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SERVICES,
} from "../../../packages/control/src/kubernetes/resource-type.js"
import { systemClock } from "../../../packages/control/src/observe/clock.js"
import { Propagation } from "../../../packages/control/src/observe/propagation.js"
import { DeletedPolicies } from "../../../packages/control/src/policies/deleted-policies.js"
import { feedPolicies } from "../../../packages/control/src/policies/policies-feed.js"
import { StoredPolicies } from "../../../packages/control/src/policies/stored-policies.js"
import { Registry } from "../../../packages/control/src/registry/registry.js"
import { feedRegistry } from "../../../packages/control/src/registry/registry-feed.js"
import { WorkloadViews } from "../../../packages/control/src/snapshot/workload-views.js"
import { EventRecorder } from "../../../packages/control/src/status/events.js"
import { StatusController } from "../../../packages/control/src/status/status-controller.js"
import { type TestCluster, testCluster } from "./support/test-cluster.js"

const mesh = meshConfig()
const { names } = mesh
const types = policyTypes(names)
const WAIT = { timeout: 90_000, interval: 200 }

/** The parts of a control plane that statuses need. */
async function startControlPlane(client: HttpKubernetesClient) {
  const stops: (() => unknown)[] = []
  const warnings: string[] = []
  const warn = (message: string): void => void warnings.push(message)
  const reflect = (type: ResourceType) => {
    const reflector = new Reflector<KubernetesObject>({ client, type }).start()
    stops.push(() => reflector.stop())
    return reflector
  }
  const documents = {
    RequestAuthentication: reflect(types.RequestAuthentication),
    AuthorizationPolicy: reflect(types.AuthorizationPolicy),
    PeerAuthentication: reflect(types.PeerAuthentication),
    PolicyInvariant: reflect(types.PolicyInvariant),
    MeshService: reflect(types.MeshService),
  }
  const directory = new Registry({ names })
  const fed = feedRegistry(directory, { pods: reflect(PODS), services: reflect(SERVICES) })
  const persistence = new KeySetPersistence({ client, names, isLeader: () => true, warn })
  const keySets = new FetchedKeySets({
    persisted: persistence.load(),
    fetch: (source, signal) => fetchJwks(source, signal, { clock: systemClock, allowLoopback: true }),
  })
  persistence.follow(keySets)
  const trust = {
    current: { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] },
    onChange: () => () => undefined,
  }
  const policies = new StoredPolicies({ names, onInvalid: () => undefined })
  const views = new WorkloadViews({ mesh, policies, directory, keySets, trust })
  const deletedPolicies = new DeletedPolicies({ policies, client, directory, names, warn })
  const feeding = feedPolicies(policies, documents, key => deletedPolicies.deleted(key))
  const ready = Promise.all([feeding.synced, fed.synced, keySets.loaded]).then(() => views.begin())
  const ledger = new ConnectedProxies()
  const measured: number[] = []
  const propagation = new Propagation({ views, ledger, propagated: seconds => void measured.push(seconds) })
  const events = new EventRecorder({ client, component: "merlon-control", instance: "c-0", warn })
  const controller = new StatusController({
    mesh,
    clusterDomain: "cluster.local",
    client,
    policies,
    directory,
    ledger,
    keySets,
    reach: views,
    clients: undefined,
    members: { isMember: () => true, onChange: () => () => undefined },
    ready,
    isLeader: () => true,
    events,
    warn,
  })
  await ready
  const proxy = (key: string): ProxySession & { acknowledge(): void } => {
    const session = ledger.connect(key)
    return Object.assign(session, { acknowledge: () => session.acknowledged(views.get(key)?.resources ?? new Map()) })
  }
  const stop = async (): Promise<void> => {
    controller.stop()
    events.stop()
    propagation.stop()
    persistence.stop()
    keySets.close()
    feeding.stop()
    deletedPolicies.stop()
    fed.stop()
    views.stop()
    for (const each of stops) await each()
  }
  return { keySets, ledger, views, warnings, measured, proxy, stop }
}

describe("status (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let folder: string
  let cluster: TestCluster
  let client: HttpKubernetesClient
  let controlPlane: Awaited<ReturnType<typeof startControlPlane>>
  let issuer: Issuer
  let k: ReturnType<typeof kubectl>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "status-"))
    cluster = await testCluster(folder)
    k = kubectl(cluster.kubeconfigPath, folder)
    client = httpClient(connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} }), {
      userAgent: "test",
      fieldManager: "test",
    })
    for (const name of ["foo", names.rootNamespace]) {
      await client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
    }
    await installDefinitions({ client, names })
    for (const name of ["a", "b"]) await client.create(PODS, pod(name))
    issuer = await startIssuer(json(jwks("one")))
    controlPlane = await startControlPlane(client)
  })
  afterAll(async () => {
    await controlPlane?.stop()
    await issuer?.close()
    await client?.close()
    await cluster?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const pod = (name: string): KubernetesObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "foo",
      labels: { app: "web" },
      annotations: { [`${names.domain}/workload`]: "declared" },
    },
    spec: { containers: [{ name: "app", image: "none", ports: [{ containerPort: 8080 }] }] },
  })
  const create = (kind: keyof typeof types, name: string, spec: object): Promise<KubernetesObject> =>
    client.create(types[kind], {
      apiVersion: `${types[kind].group}/${types[kind].version}`,
      kind,
      metadata: { name, namespace: "foo" },
      spec,
    })
  const condition = async (kind: keyof typeof types, name: string, type: string): Promise<string> => {
    const object = await client.get<KubernetesObject>(types[kind], name, "foo")
    const { conditions = [] } = (object?.status ?? {}) as { conditions?: StatusCondition[] }
    const found = conditions.find(candidate => candidate.type === type)
    return found === undefined ? "nothing" : `${found.status} ${found.reason}: ${found.message}`
  }

  it("kubectl can wait until every proxy enforces a policy", async () => {
    const [a, b] = [controlPlane.proxy("foo/a"), controlPlane.proxy("foo/b")]
    await create("AuthorizationPolicy", "allow", { rules: [{}] })
    await vi.waitFor(async () => {
      expect(await condition("AuthorizationPolicy", "allow", "Enforced")).toContain(
        "enforced by 0 of 2 proxies at generation 1",
      )
    }, WAIT)
    const waiting = k("wait -n foo authorizationpolicies/allow --for=condition=Enforced --timeout=120s")
    a.acknowledge()
    await vi.waitFor(async () => {
      expect(await condition("AuthorizationPolicy", "allow", "Enforced")).toBe(
        "False Waiting: enforced by 1 of 2 proxies at generation 1; waiting for foo/b",
      )
    }, WAIT)
    b.acknowledge()
    expect(await waiting).toMatchObject({ code: 0 })
    expect(await condition("AuthorizationPolicy", "allow", "Accepted")).toBe(
      "True Valid: allows every request, on 2 workloads in `foo`",
    )
    expect(controlPlane.measured.length).toBeGreaterThan(0)
  })

  it("shows a proxy's rejection on the resource", async () => {
    await create("AuthorizationPolicy", "rejected", { rules: [{}] })
    await vi.waitFor(() => {
      expect(controlPlane.views.get("foo/a")?.resources.has("policy/AuthorizationPolicy/foo/rejected")).toBe(true)
    }, WAIT)
    controlPlane
      .proxy("foo/a")
      .rejected(1, "cannot compile it", controlPlane.views.get("foo/a")?.resources ?? new Map())
    await vi.waitFor(async () => {
      expect((await k("describe -n foo authorizationpolicy rejected")).out).toMatch(
        /Warning\s+ProxyRejected\s.*merlon-control\s+.*`foo\/a` rejected it: cannot compile it/,
      )
    }, WAIT)
    await client.delete(types.AuthorizationPolicy, "rejected", "foo")
  })

  it("follows an issuer through failure and rotation, and across a restart while it is down", async () => {
    const rule: JwtRule = { issuer: "https://idp.test", jwksUri: `${issuer.url}/keys` }
    await create("RequestAuthentication", "jwt", { jwtRules: [rule] } satisfies RequestAuthentication["spec"])
    const ready = () => condition("RequestAuthentication", "jwt", "JwksReady")
    await vi.waitFor(async () => expect(await ready()).toContain("True Ready: `https://idp.test`: 1 key of"), WAIT)
    for (const key of ["foo/a", "foo/b"]) {
      const session = controlPlane.proxy(key)
      await vi.waitFor(() => {
        expect(controlPlane.views.get(key)?.resources.has(resourceNames.keySet(keySetId(rule)))).toBe(true)
      }, WAIT)
      session.acknowledge()
    }
    await vi.waitFor(async () => {
      expect(await condition("RequestAuthentication", "jwt", "Enforced")).toContain("True AllProxies")
    }, WAIT)

    issuer.answer = json(jwks("two", "three"))
    controlPlane.keySets.reportUnknownKey(keySetId(rule))
    await vi.waitFor(async () => expect(await ready()).toContain("2 keys of"), WAIT)
    await vi.waitFor(async () => {
      expect(
        (await k("get configmap -n merlon-system -l merlon.dev/key-set=true -o jsonpath={.items[*].data.jwks}")).out,
      ).toContain("three")
    }, WAIT)

    issuer.answer = status(500)
    await controlPlane.stop()
    controlPlane = await startControlPlane(client)
    // From the very first view on: a proxy must never be sent a state without keys.
    expect(controlPlane.views.get("foo/a")?.resources.has(resourceNames.keySet(keySetId(rule)))).toBe(true)
    await vi.waitFor(async () => {
      expect(await ready()).toMatch(
        /^True Stale: `https:\/\/idp.test`: 2 keys of .* stay in force \(.* answered 500; next try /,
      )
    }, WAIT)
    const described = async () => (await k("describe -n foo requestauthentication jwt")).out
    await expect.poll(described).toMatch(/Warning\s+JwksFetchFailed/)
  })
})
