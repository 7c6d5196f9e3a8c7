// SPDX-License-Identifier: Apache-2.0
// Questions about a live cluster with Istio's definitions and objects and none of ours, on a real API server.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Cluster, startCluster } from "@merlon/cluster"
import { connectionFrom, Transport } from "@merlon/control/kubernetes"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const ANYTHING = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
const definition = (group: string, kind: string, ...versions: readonly string[]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${pluralOf(kind)}.${group}` },
  spec: {
    ...{ group, scope: "Namespaced" },
    names: { kind, listKind: `${kind}List`, plural: pluralOf(kind), singular: kind.toLowerCase() },
    versions: versions.map((name, at) => ({ name, served: true, storage: at === 0, schema: ANYTHING })),
  },
})
const pluralOf = (kind: string): string =>
  `${kind.toLowerCase()}s`.replace(/ss$/, "sses").replace(/(?<=[^aeiou])ys$/, "ies")

const SECURITY = "security.istio.io"
const policy = (name: string, spec: object, kind = "AuthorizationPolicy", namespace = "shop") => ({
  ...{ apiVersion: `${SECURITY}/v1`, kind, metadata: { name, namespace }, spec },
})
const readers = (methods: readonly string[]) =>
  policy("cart", {
    selector: { matchLabels: { app: "cart" } },
    rules: [{ from: [{ source: { principals: ["example.org/ns/shop/sa/web"] } }], to: [{ operation: { methods } }] }],
  })
const pod = (namespace: string, name: string, proxy?: string, annotations = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace, name, labels: { app: name }, annotations } },
  spec: {
    serviceAccountName: "default",
    containers: [
      { name: "app", image: "app", ports: [{ containerPort: 8080 }] },
      ...(proxy === undefined ? [] : [{ name: "istio-proxy", image: "proxyv2", args: ["proxy", proxy] }]),
    ],
  },
})
const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
const OBJECTS = [
  ...["AuthorizationPolicy", "RequestAuthentication", "PeerAuthentication"].map(kind =>
    definition(SECURITY, kind, "v1", "v1beta1"),
  ),
  definition("networking.istio.io", "EnvoyFilter", "v1alpha3"),
  ...["istio-system", "shop", "edge", "other"].map(namespace),
  {
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio", namespace: "istio-system" } },
    data: { mesh: "trustDomain: example.org\npathNormalization: { normalization: MERGE_SLASHES }\n" },
  },
  pod("shop", "cart", "sidecar"),
  pod("shop", "job"),
  pod("edge", "ingress", "router"),
  {
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "cart", namespace: "shop" } },
    spec: { selector: { app: "cart" }, ports: [{ port: 80, targetPort: 8080 }] },
  },
  readers(["GET"]),
  policy("no-admin", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] }),
  policy("default", { mtls: { mode: "STRICT" } }, "PeerAuthentication", "istio-system"),
]

let folder = ""
let cluster: Cluster
let out = ""
let err = ""

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed([...args, "--kubeconfig", cluster.kubeconfigPath]))
  return code
}

const put = (name: string, document: unknown): string => {
  writeFileSync(join(folder, name), JSON.stringify(document))
  return join(folder, name)
}

async function create(object: object): Promise<void> {
  const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
  const client = new Transport(connection, { userAgent: "test", timeoutMs: 60_000 })
  try {
    const { apiVersion, kind, metadata } = object as ReturnType<typeof policy> // each is written like one
    const place = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    await client.request({ method: "POST", path: `${root}${place}/${pluralOf(kind)}`, body: object })
  } finally {
    await client.close()
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "merlon-istio-cluster-"))
  cluster = await startCluster({ dataDir: join(folder, "cluster"), port: 0 })
  for (const object of OBJECTS) await create(object)
})
afterAll(async () => {
  await cluster?.close()
  rmSync(folder, { recursive: true })
})

const WEB = "example.org/ns/shop/sa/web"

describe("a cluster with Istio and without our kinds", () => {
  it.each<readonly [string, readonly string[], number, string]>([
    ["who-can", ["who-can", "shop/cart"], 0, "`ns[shop]-policy[cart]-rule[0]`"],
    ["explain, which allows", ["explain", "shop/cart", "--from", WEB, "--path", "/x"], 0, "allowed"],
    ["explain, by its normalization", ["explain", "shop/cart", "--from", WEB, "--path", "//admin"], 5, "denied: 403"],
    ["explain, by its mTLS mode", ["explain", "shop/cart", "--path", "/x"], 5, "STRICT"],
    ["explain of a curl line", ["explain", "shop/cart", "--from", WEB, "--curl", "curl -X PUT http://cart/"], 5, "PUT"],
    ["analyze", ["analyze", "--fail-on", "never"], 4, "read: 3 policies, 1 workload"],
  ])("answers %s", async (_, args, code, words) => {
    expect(await run(...args), err).toBe(code)
    expect(out).toContain(words)
    expect(err).toContain("these are Istio's policies")
    expect(err).toContain("no policy applies to 1 Pod that has no proxy of Istio")
  })

  it("compares a file with it", async () => {
    const file = put("new.yaml", readers(["GET", "POST"]))
    expect(await run("diff", "-f", file), err).toBe(5)
    expect(out).toContain(`POST from ${WEB}`)
    expect(out).toContain("curl -i -X POST http://cart.shop/")
    expect(out).toContain("nothing else changes (proved)")
    expect(await run("diff", "-f", put("same.yaml", readers(["GET"])))).toBe(0)
  })

  it.each([
    ["holds", "app", 0, "nothing changes"],
    ["is broken", "web", 5, "broken: `never: no calls` of PolicyInvariant `shop/cart`"],
  ])("checks an invariant from a file, which %s", async (_, account, code, words) => {
    const from = [{ source: { principals: [`example.org/ns/shop/sa/${account}`] } }]
    const invariant = {
      ...policy("cart", { never: [{ name: "no calls", from }] }, "PolicyInvariant"),
      apiVersion: "security.merlon.dev/v1alpha3",
    }
    expect(await run("diff", "-f", put("invariant.json", invariant)), err).toBe(code)
    expect(out).toContain(words)
  })

  it("lists a gateway if policies change that may apply to it", async () => {
    const skipped = "skipped: Pod edge/ingress: not modelled"
    expect(await run("what-can", WEB)).toBe(4)
    expect(out).toContain(skipped)
    const meshWide = policy("all", { action: "AUDIT", rules: [{}] }, "AuthorizationPolicy", "istio-system")
    expect(await run("diff", "-f", put("all.yaml", meshWide))).toBe(4)
    expect(out).toContain(skipped)
  })

  const line = {
    ...{ start_time: "2026-11-18T10:00:00Z", method: "GET", path: "/items", response_code: 200 },
    ...{ authority: "cart.shop", upstream_cluster: "inbound|8080||", response_code_details: "via_upstream" },
    ...{ downstream_local_address: "10.0.0.7:8080", downstream_remote_address: "10.0.0.9:51234" },
    downstream_peer_uri_san: `spiffe://${WEB}`,
  }

  it.each([
    ["that the proxy allowed", {}, 0, "allowed", ""],
    ["that the proxy allowed then, and would deny now", { method: "PUT" }, 5, "PUT /items", "the proxy allowed it"],
    ["of its normalization", { path: "//admin" }, 5, "denied: 403", "the proxy allowed it"],
  ])("explains a line of Envoy's access log %s", async (_, fields, code, words, remark) => {
    expect(await run("explain", "shop/cart", "--log", JSON.stringify({ ...line, ...fields })), err).toBe(code)
    expect(out).toContain(words)
    expect(err).toContain(remark)
  })

  it("suggests policies from a log of Envoy, and reports that Istio records no calls", async () => {
    expect(await run("suggest", "shop/cart", "--access-log", put("envoy.json", line)), err).toBe(0)
    expect(out).toContain("apiVersion: security.istio.io/v1")
    expect(await run("suggest", "shop/cart")).toBe(2)
    expect(err).toContain("Istio records no calls")
  })

  it("uses the mesh configuration that a flag names", async () => {
    const file = put("mesh.json", { trustDomain: "example.org" })
    expect(await run("explain", "shop/cart", "--from", WEB, "--path", "//admin", "--mesh-config", file)).toBe(0)
  })

  it("decides nothing about a Gateway that it lacks, nor about a mesh configuration in the files", async () => {
    const targetRefs = [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "none" }]
    expect(await run("diff", "-f", put("edge.yaml", policy("edge", { rules: [{}], targetRefs })))).toBe(4)
    expect(out).toContain(
      "AuthorizationPolicy shop/edge: not modelled: it targets Gateway shop/none, which was not read",
    )
    const configMap = {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio", namespace: "istio-system" } },
      data: { mesh: "trustDomain: other.org" },
    }
    expect(await run("diff", "-f", put("same.yaml", readers(["GET"])), "-f", put("mesh.yaml", configMap))).toBe(4)
    expect(out).toContain("the mesh configuration in the files: not modelled")
  })

  it.each([
    ["In", 0],
    ["NotIn", 4],
  ])("reads which namespaces are part of the mesh: %s", async (operator, code) => {
    const matchExpressions = [{ key: "kubernetes.io/metadata.name", operator, values: ["shop"] }]
    const config = put("mesh.json", { trustDomain: "example.org", discoverySelectors: [{ matchExpressions }] })
    expect(await run("who-can", "shop/cart", "--mesh-config", config)).toBe(code)
    expect(out.includes("`discoverySelectors` select no Namespace")).toBe(code === 4)
  })

  it("is not treated as Istio's with --dialect merlon", async () => {
    expect(await run("who-can", "shop/cart", "--dialect", "merlon")).not.toBe(0)
    expect(err).toContain("is not installed there")
  })

  it("lists Pods of another revision with a different mesh configuration", async () => {
    await create({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio-canary", namespace: "istio-system" } },
      data: { mesh: "trustDomain: example.org" },
    })
    await create(pod("shop", "new", "sidecar", { "istio.io/rev": "canary" }))
    await create(pod("shop", "old", "sidecar", { "istio.io/rev": "default" }))
    const skipped = "skipped: ConfigMap istio-canary: it configures the Pods of this revision"
    expect(await run("who-can", "shop/new")).toBe(4)
    expect(out).toContain(skipped)
    expect(await run("who-can", "shop/old")).toBe(0)
    expect(await run("diff", "-f", put("same.yaml", readers(["GET"])))).toBe(4)
    expect(out).toContain(skipped)
    expect(await run("who-can", "shop/new", "--mesh-config", put("mesh.json", { trustDomain: "example.org" }))).toBe(0)
  })

  it("lists Pods with ports that their sidecar does not capture", async () => {
    await create(pod("shop", "open", "sidecar", { "traffic.sidecar.istio.io/excludeInboundPorts": "8080" }))
    expect(await run("who-can", "shop/open")).toBe(4)
    expect(out).toContain("skipped: Pod shop/open: not modelled: no policy holds on ports that")
    expect(await run("who-can", "shop/cart")).toBe(0)
  })

  it("lists Pods whose gRPC library decides, and counts a ztunnel among Pods without a proxy", async () => {
    await create(pod("shop", "grpc", "sidecar", { "inject.istio.io/templates": "grpc-agent" }))
    expect(await run("who-can", "shop/grpc")).toBe(4)
    expect(out).toContain(
      "skipped: Pod shop/grpc: not modelled: it is injected with `inject.istio.io/templates: grpc-agent`",
    )
    await create(pod("shop", "ztunnel", "ztunnel"))
    expect(await run("who-can", "shop/ztunnel")).toBe(1)
    expect(err).toContain("workload `shop/ztunnel` not found")
  })

  describe("with the Gateway API", () => {
    const GATEWAY_API = "gateway.networking.k8s.io"
    const gateway = (namespace: string, name: string, gatewayClassName: string, listener: object) => ({
      ...{ apiVersion: `${GATEWAY_API}/v1`, kind: "Gateway", metadata: { namespace, name } },
      spec: { gatewayClassName, listeners: [{ name: "l", ...listener }] },
      status: { addresses: [{ value: "10.0.0.20" }] },
    })
    const proxyOf = (namespace: string, name: string, of: string, role: string) => {
      const { metadata, ...running } = pod(namespace, name, role)
      const labels = { [`${GATEWAY_API}/gateway-name`]: of }
      return { ...running, metadata: { ...metadata, labels } }
    }
    const target = (kind: string, name: string) => ({
      targetRefs: [{ group: kind === "Service" ? "" : GATEWAY_API, kind, name }],
    })
    const only = (kind: string, name: string, namespace: string) =>
      policy(
        "only",
        { rules: [{ to: [{ operation: { paths: ["/x"] } }] }], ...target(kind, name) },
        "AuthorizationPolicy",
        namespace,
      )

    it("decides about gateways and waypoints, and lists one that is not ready", async () => {
      const crd = definition(GATEWAY_API, "Gateway", "v1")
      const annotations = { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/1" }
      await create({ ...crd, metadata: { ...crd.metadata, annotations } })
      const { metadata, ...rest } = namespace("mesh")
      await create({ ...rest, metadata: { ...metadata, labels: { "istio.io/use-waypoint": "w" } } })
      await create(gateway("edge", "public", "istio", { port: 80, protocol: "HTTP" }))
      await create(gateway("mesh", "w", "istio-waypoint", { port: 15_008, protocol: "HBONE" }))
      await create(proxyOf("edge", "public-istio-x", "public", "router"))
      await create(proxyOf("mesh", "w-x", "w", "waypoint"))
      await create({
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "till", namespace: "mesh" } },
        spec: { selector: { app: "till" }, ports: [{ port: 80 }] },
      })
      expect(await run("diff", "-f", put("edge.yaml", only("Gateway", "public", "edge"))), `${out}${err}`).toBe(5)
      expect(out).toContain("1 workload: edge/public-istio-x")
      expect(await run("diff", "-f", put("mesh.yaml", only("Service", "till", "mesh"))), `${out}${err}`).toBe(5)
      expect(out).toContain("1 workload: mesh/w:till")
      expect(await run("who-can", "edge/public"), `${out}${err}`).toBe(0)
      await create({ ...gateway("mesh", "late", "istio-waypoint", { port: 15_008, protocol: "HBONE" }), status: {} })
      expect(await run("diff", "-f", put("late.yaml", only("Gateway", "late", "mesh"))), `${out}${err}`).toBe(4)
      expect(out).toContain("it targets Gateway mesh/late, it is not ready")
    })
  })

  it("lists stored objects that are not modelled", async () => {
    await create({
      ...{ apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter" },
      ...{ metadata: { name: "lua", namespace: "shop" }, spec: {} },
    })
    expect(await run("who-can", "shop/cart")).toBe(4)
    expect(out).toContain("skipped: EnvoyFilter shop/lua: not modelled")
  })
})
