// SPDX-License-Identifier: Apache-2.0
// What decides besides policies in an Istio mesh, and may change with them: the mesh configuration, gateways and
// waypoints, ports that no Pod declares, and labels that Pods get when they are created.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const policy = (name: string, spec: object, kind = "AuthorizationPolicy") => ({
  ...{ apiVersion: "security.istio.io/v1", kind, metadata: { name, namespace: "shop" }, spec },
})
const ALLOW_ALL = policy("cart", { rules: [{}] })
const WORKLOAD = {
  ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "cart", namespace: "shop" } },
  spec: {
    template: {
      metadata: { labels: { app: "cart" } },
      spec: { containers: [{ name: "app", ports: [{ containerPort: 8080 }] }] },
    },
  },
}
const configMap = (mesh: object) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio", namespace: "istio-system" } },
  data: { mesh: JSON.stringify(mesh) },
})

let folder = ""
let out = ""
let err = ""
const put = (name: string, ...documents: readonly unknown[]): string => {
  writeFileSync(join(folder, name), documents.map(document => JSON.stringify(document)).join("\n---\n"))
  return join(folder, name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-istio-changes-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

const changed = (before: readonly unknown[], after: readonly unknown[], workload: object = WORKLOAD): Promise<number> =>
  run(
    "diff",
    "--from",
    put("a.yaml", ...before),
    "--to",
    put("b.yaml", ...after),
    "--workloads",
    put("w.yaml", workload),
  )

describe("a change of the mesh configuration", () => {
  const custom = policy("ext", {
    ...{ action: "CUSTOM", provider: { name: "opa" } },
    rules: [{ to: [{ operation: { paths: ["/admin"] } }] }],
  })
  const opa = { name: "opa", envoyExtAuthzHttp: { service: "opa.opa", port: 80 } }
  const declared = (...extensionProviders: object[]) => configMap({ extensionProviders })
  const moved = { ...opa, envoyExtAuthzHttp: { service: "other.opa", port: 80 } }
  const provider = "the mesh configuration changes its provider `opa`"

  it.each<readonly [string, object, object, string]>([
    ["that removes a provider", declared(opa), declared(), provider],
    ["that adds a provider", declared(), declared(opa), provider],
    ["that moves a provider", declared(opa), declared(moved), provider],
    [
      "of a set that had none",
      policy("x", {}),
      configMap({ trustDomain: "x", extensionProviders: [opa] }),
      "only after",
    ],
    [
      "of a set that has none",
      configMap({ trustDomain: "x", extensionProviders: [opa] }),
      policy("x", {}),
      "only before",
    ],
  ])("is not decided: %s", async (_, before, after, why) => {
    expect(await changed([ALLOW_ALL, custom, before], [ALLOW_ALL, custom, after])).toBe(4)
    expect(out).toContain(why)
  })

  it.each<readonly [string, object, object]>([
    ["of a provider that no policy names", declared(opa), declared(opa, { name: "other" })],
    ["that says what Istio takes by default", policy("x", {}), configMap({ extensionProviders: [opa] })],
  ])("changes nothing: %s", async (_, before, after) => {
    const denied = policy("x", {})
    expect(await changed([ALLOW_ALL, custom, denied, before], [ALLOW_ALL, custom, denied, after]), out).toBe(0)
  })

  it("is an error if it selects other namespaces", async () => {
    const selecting = (mesh: string) => configMap({ discoverySelectors: [{ matchLabels: { mesh } }] })
    expect(await changed([ALLOW_ALL, selecting("yes")], [ALLOW_ALL, selecting("no")])).toBe(1)
    expect(err).toContain("different mesh configurations")
  })

  it("may be in an IstioOperator, which is not reported as skipped", async () => {
    const operator = { apiVersion: "install.istio.io/v1alpha1", kind: "IstioOperator", spec: { meshConfig: {} } }
    expect(await changed([ALLOW_ALL, operator], [ALLOW_ALL, operator])).toBe(0)
    expect(err).not.toContain("IstioOperator")
  })
})

describe("a workload of a mesh that is limited by `discoverySelectors`", () => {
  const namespace = (labels: object) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels } })
  const labels = (mesh: string) => ({ matchLabels: { mesh } })
  const expression = (key: string, operator: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator, values }],
  })
  const name = "kubernetes.io/metadata.name"

  it.each<readonly [string, object, object | undefined, number]>([
    ["whose Namespace has the labels", labels("yes"), namespace({ mesh: "yes" }), 0],
    ["whose Namespace lacks them", labels("yes"), namespace({}), 4],
    ["whose Namespace was not read", labels("yes"), undefined, 4],
    ["by the name of its namespace", expression(name, "In", "shop", "bank"), undefined, 0],
    ["by the names of others", expression(name, "In", "bank"), undefined, 4],
    ["by the name that is left out", expression(name, "NotIn", "shop"), undefined, 4],
    ["by a label that must exist", expression("mesh", "Exists"), namespace({ mesh: "" }), 0],
    ["by a label that must not exist", expression("mesh", "DoesNotExist"), namespace({}), 0],
    ["by a label that may exist", expression("mesh", "DoesNotExist"), undefined, 4],
    ["by other values, of labels that were not read", expression("mesh", "NotIn", "no"), undefined, 4],
    ["by an operator that is unknown", expression("mesh", "Gt", "1"), namespace({ mesh: "2" }), 4],
  ])("%s", async (_, selector, beside, code) => {
    const files = [ALLOW_ALL, WORKLOAD, configMap({ discoverySelectors: [selector] }), ...(beside ? [beside] : [])]
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ...files)), out).toBe(code)
    expect(out.includes("`discoverySelectors` select no Namespace")).toBe(code === 4)
  })
})

describe("a change at a gateway or waypoint", () => {
  const GATEWAY_API = "gateway.networking.k8s.io"
  const at = (group: string, kind: string, namespace: string, rules: readonly object[] = [{}]) => {
    const name = kind === "GatewayClass" ? "istio-waypoint" : "g"
    const targeting = policy("edge", { action: "DENY", rules, targetRefs: [{ group, kind, name }] })
    return { ...targeting, metadata: { ...targeting.metadata, namespace } }
  }

  it.each([
    [GATEWAY_API, "Gateway", "shop", "Gateway shop/g, which was not read"],
    ["", "Service", "shop", "Service shop/g, of which the waypoint is not known: it was not read"],
    ["networking.istio.io", "ServiceEntry", "shop", "ServiceEntry shop/g, of which the waypoint is not known"],
    [GATEWAY_API, "GatewayClass", "istio-system", "no waypoint was read"],
    [GATEWAY_API, "HTTPRoute", "shop", "a target that is not modelled"],
    ["", "Gateway", "shop", "Gateway of the core group shop/g, a target that is not modelled"],
  ])("that was not read is not decided: group `%s`, kind %s", async (group, kind, namespace, why) => {
    const edge = at(group, kind, namespace)
    for (const [before, after] of [
      [[edge], []],
      [[], [edge]],
      [[edge], [at(group, kind, namespace, [{ to: [{ operation: { paths: ["/x"] } }] }])]],
    ] as const) {
      expect(await changed([ALLOW_ALL, ...before], [ALLOW_ALL, ...after])).toBe(4)
      expect(out).toContain(`AuthorizationPolicy ${namespace}/edge: not modelled: it targets ${kind}`)
      expect(out).toContain(why)
      expect(out).not.toContain("proved")
    }
    expect(await changed([ALLOW_ALL, edge], [ALLOW_ALL, edge])).toBe(0)
  })
})

describe("a port that the Pod does not declare", () => {
  const ports = (...open: string[]) => policy("cart", { rules: [{ to: [{ operation: { ports: open } }] }] })
  const peer = (spec: object) =>
    policy(
      "modes",
      { selector: { matchLabels: { app: "cart" } }, mtls: { mode: "STRICT" }, ...spec },
      "PeerAuthentication",
    )

  it("counts, because the sidecar captures connections to it", async () => {
    expect(await changed([ports("8080")], [ports("8080", "9090")])).toBe(5)
    expect(out).toContain("9090")
    const open = peer({ portLevelMtls: { 9090: { mode: "PERMISSIVE" } } })
    expect(await changed([ALLOW_ALL, peer({})], [ALLOW_ALL, open])).toBe(5)
    expect(out).toContain("9090")
  })

  it("is not reported as a port that can never be called", async () => {
    await run("analyze", "-f", put("p.yaml", ports("9090"), WORKLOAD))
    expect(out).not.toContain("9090")
  })
})

describe("a policy that selects Pods by a label that they get when they are created", () => {
  const denied = (labels: object) => policy("no", { selector: { matchLabels: labels }, action: "DENY", rules: [{}] })
  const pod = (labels: object, more: object = {}) => ({
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "cart", namespace: "shop", labels, ...more } },
    spec: { containers: [{ name: "app" }] },
  })
  const canonical = { "service.istio.io/canonical-name": "cart" }

  it.each<readonly [string, object, object, number]>([
    ["that Istio adds", canonical, WORKLOAD, 4],
    ["that Istio adds, beside others", { app: "cart", ...canonical }, WORKLOAD, 4],
    ["of a StatefulSet", { "statefulset.kubernetes.io/pod-name": "cart-0" }, WORKLOAD, 4],
    ["of a ReplicaSet", { "pod-template-hash": "abc" }, WORKLOAD, 4],
    ["of a Job", { "batch.kubernetes.io/job-name": "cart" }, WORKLOAD, 4],
    ["beside labels of other Pods", { app: "x", ...canonical }, WORKLOAD, 0],
    ["of a Pod that has it", canonical, pod(canonical), 5],
    ["of a Pod that has another", canonical, pod({ "service.istio.io/canonical-name": "x" }), 0],
    ["of a Pod to be created", canonical, pod({ app: "cart" }), 4],
    ["of a Pod of a cluster, which lacks it", canonical, pod({ app: "cart" }, { uid: "1" }), 0],
  ])("%s", async (_, labels, workload, code) => {
    expect(await changed([ALLOW_ALL, denied(labels)], [ALLOW_ALL], workload), out).toBe(code)
    expect(out.includes("when they are created")).toBe(code === 4)
  })
})
