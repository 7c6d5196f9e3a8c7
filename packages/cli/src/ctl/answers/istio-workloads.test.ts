// SPDX-License-Identifier: Apache-2.0
// Which Istio workloads an answer covers: workloads without a sidecar as modelled, and those outside Kubernetes, are
// listed instead of decided. So are mTLS modes that depend on the age of policies, which files do not contain.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const policy = (name: string, spec: object, apiVersion = "security.istio.io/v1", kind = "AuthorizationPolicy") => ({
  ...{ apiVersion, kind, metadata: { name, namespace: "shop" }, spec },
})
const ALLOW_GET = policy("cart", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] })
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "cart", namespace: "shop", labels: { app: "cart" } },
  spec: { containers: [{ name: "app", ports: [{ containerPort: 8080 }] }] },
}

let folder = ""
let out = ""
let err = ""
const put = (name: string, ...documents: readonly unknown[]): string => {
  writeFileSync(join(folder, name), documents.map(document => JSON.stringify(document)).join("\n---\n"))
  return join(folder, name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-istio-workloads-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

describe("a workload without a sidecar as it is modelled", () => {
  const made = (metadata: object = {}, spec: object = {}) => ({
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "cart", namespace: "shop" } },
    spec: { template: { metadata: { labels: { app: "cart" }, ...metadata }, spec: { ...POD.spec, ...spec } } },
  })
  const labelled = (labels: object) => made({ labels: { app: "cart", ...labels } })
  const annotated = (name: string, value: string) => made({ annotations: { [name]: value } })
  const namespace = (labels: object) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels } })
  const proxy = (...args: string[]) => made({}, { containers: [{ name: "istio-proxy", args: ["proxy", ...args] }] })
  const ambient = { "istio.io/dataplane-mode": "ambient" }
  const disabled = { "istio-injection": "disabled" }
  const inject = (value: string) => ({ "sidecar.istio.io/inject": value })
  const other = { ...POD, metadata: { ...POD.metadata, namespace: "till", name: "other", labels: inject("true") } }

  it.each<readonly [string, object, string, object?]>([
    ["on the node's network", made({}, { hostNetwork: true }), "`hostNetwork` leaves it without a sidecar"],
    ["with injection off", labelled(inject("false")), "`sidecar.istio.io/inject: false` leaves it"],
    ["with injection off by annotation", annotated("sidecar.istio.io/inject", "false"), "leaves it without a sidecar"],
    [
      "in a namespace without injection",
      made(),
      "`istio-injection: disabled` leaves its namespace",
      namespace(disabled),
    ],
    [
      "in a namespace without injection, with injection on, which the namespace overrides",
      labelled(inject("true")),
      "`istio-injection: disabled` leaves its namespace",
      namespace(disabled),
    ],
    ["of the ambient mesh", labelled(ambient), "it is in the ambient mesh"],
    ["in an ambient namespace", made(), "it is in the ambient mesh", namespace(ambient)],
    ["of a gateway", proxy("router"), "it is a gateway or waypoint of Istio"],
    ["of a ztunnel", proxy("ztunnel"), "it is a ztunnel"],
    ["injected as a gateway", annotated("inject.istio.io/templates", "gateway"), "it is a gateway or waypoint"],
    [
      "of proxyless gRPC",
      annotated("inject.istio.io/templates", "grpc-agent"),
      "`inject.istio.io/templates: grpc-agent`",
    ],
    [
      "with excluded ports",
      annotated("traffic.sidecar.istio.io/excludeInboundPorts", "8080"),
      "excludeInboundPorts: 8080",
    ],
    ["with included ports", annotated("traffic.sidecar.istio.io/includeInboundPorts", "80"), "includeInboundPorts: 80"],
    [
      "that captures nothing",
      annotated("sidecar.istio.io/interceptionMode", "NONE"),
      "leads no request through its sidecar",
    ],
  ])("is listed: %s", async (_, workload, why, beside = ALLOW_GET) => {
    const file = put("p.yaml", ALLOW_GET, workload, beside, other)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(4)
    expect(out).toMatch(/skipped: Deployment shop\/cart: not modelled: /)
    expect(out).toContain(why)
    expect(await run("who-can", "till/other", "-f", file)).toBe(0)
    expect(err).toContain("it is about none of the workloads")
    // Without a change of its policies, a ztunnel decides as before.
    const code = why === "it is in the ambient mesh" ? 0 : 4
    expect(await run("diff", "--from", file, "--to", file, "--workloads", file)).toBe(code)
  })

  it("is listed by diff if its namespace becomes part of the ambient mesh", async () => {
    const [from, to] = [put("a.yaml", ALLOW_GET, namespace({})), put("b.yaml", ALLOW_GET, namespace(ambient))]
    expect(await run("diff", "--from", from, "--to", to, "--workloads", put("w.yaml", POD)), out).toBe(4)
    expect(out).toContain("it is in the ambient mesh")
  })

  it("is listed in a namespace where Istio never injects", async () => {
    const pod = { ...POD, metadata: { ...POD.metadata, namespace: "kube-system" } }
    expect(await run("who-can", "kube-system/cart", "-f", put("p.yaml", ALLOW_GET, pod))).toBe(4)
    expect(out).toContain("Istio injects no sidecar in `kube-system`")
  })

  it("is listed if a Namespace in the files says so, in one of two versions", async () => {
    const [on, off] = [{ "istio-injection": "enabled" }, disabled].map(namespace)
    const [from, to] = [put("a.yaml", ALLOW_GET, off), put("b.yaml", ALLOW_GET, on)]
    expect(await run("diff", "--from", from, "--to", to, "--workloads", put("w.yaml", POD))).toBe(4)
    expect(out).toContain("`istio-injection: disabled` leaves its namespace")
    expect(await run("who-can", "shop/cart", "-f", from, "--workloads", put("w.yaml", POD))).toBe(4)
  })

  it.each<readonly [string, object, object?]>([
    ["in an ambient namespace, with injection on", labelled(inject("true")), namespace(ambient)],
    ["in an ambient namespace that it leaves", labelled({ "istio.io/dataplane-mode": "none" }), namespace(ambient)],
    ["with a sidecar in its manifest", proxy("sidecar")],
    ["with all ports included", annotated("traffic.sidecar.istio.io/includeInboundPorts", "*")],
    ["with no port excluded", annotated("traffic.sidecar.istio.io/excludeInboundPorts", "")],
  ])("is decided: %s", async (_, workload, beside = ALLOW_GET) => {
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ALLOW_GET, workload, beside)), out).toBe(0)
  })
})

describe("PeerAuthentications of one scope", () => {
  const peer = (name: string, mode: string, spec: object = {}, more: object = {}) => {
    const document = policy(name, { mtls: { mode }, ...spec }, "security.istio.io/v1", "PeerAuthentication")
    return { ...document, metadata: { ...document.metadata, ...more } }
  }
  const cart = { selector: { matchLabels: { app: "cart" } } }

  it.each([
    ["without an age are not decided", [peer("a", "STRICT"), peer("b", "PERMISSIVE")], 4],
    ["for one workload without an age are not decided", [peer("a", "STRICT", cart), peer("b", "UNSET", cart)], 4],
    ["that say the same are decided", [peer("a", "STRICT"), peer("b", "STRICT")], 0],
    [
      "of which the cluster has written one are decided",
      [peer("b", "STRICT", {}, { creationTimestamp: "2026-01-01T00:00:00Z" }), peer("a", "DISABLE")],
      0,
    ],
    ["of different scopes are decided", [peer("a", "STRICT"), peer("b", "PERMISSIVE", cart)], 0],
    [
      "for other workloads are decided",
      ["STRICT", "DISABLE"].map(mode => peer(mode.toLowerCase(), mode, { selector: { matchLabels: { app: "x" } } })),
      0,
    ],
  ])("%s", async (_, peers, code) => {
    const file = put("p.yaml", ALLOW_GET, ...peers, POD)
    expect(await run("who-can", "shop/cart", "-f", file), out).toBe(code)
    expect(out.includes("the oldest counts, and files do not say which one it is")).toBe(code === 4)
    expect(await run("diff", "--from", file, "--to", file, "--workloads", file)).toBe(code)
  })
})

describe("a workload outside Kubernetes", () => {
  it.each(["WorkloadEntry", "WorkloadGroup"])("is listed where the answer is about all workloads: %s", async kind => {
    const file = put("p.yaml", ALLOW_GET, policy("vm", { address: "10.0.0.1" }, "networking.istio.io/v1", kind), POD)
    const listed = `${file}: ${kind} vm: not modelled: it runs outside Kubernetes`
    for (const args of [
      ["what-can", "shop/web", "-f", file],
      ["diff", "--from", file, "--to", file, "--workloads", file],
    ]) {
      expect(await run(...args)).toBe(4)
      expect(out).toContain(`skipped: ${listed}`)
    }
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(0)
    expect(err).toContain(`note: ${listed}`)
  })
})
