// SPDX-License-Identifier: Apache-2.0
// Questions about gateways and waypoints of Istio, from files: which workloads stand for them, which policies apply to
// them, and what is listed instead of decided.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const GATEWAY_API = "gateway.networking.k8s.io"
const of = (name: string, namespace: string, labels?: object) => ({
  metadata: { name, namespace, ...(labels && { labels }) },
})
const policy = (namespace: string, name: string, spec: object, kind = "AuthorizationPolicy") => ({
  ...{ apiVersion: "security.istio.io/v1", kind, ...of(name, namespace), spec },
})
const target = (kind: string, name: string) => {
  const group = kind === "Service" ? "" : kind === "ServiceEntry" ? "networking.istio.io" : GATEWAY_API
  return { targetRefs: [{ group, kind, name }] }
}
const paths = (...allowed: string[]) => ({ rules: [{ to: [{ operation: { paths: allowed } }] }] })
const gateway = (namespace: string, name: string, spec: object = {}, labels?: object) => ({
  ...{ apiVersion: `${GATEWAY_API}/v1`, kind: "Gateway", ...of(name, namespace, labels) },
  spec: {
    gatewayClassName: "istio",
    listeners: [{ name: "http", port: 80, protocol: "HTTP", hostname: "shop.example" }],
    ...spec,
  },
})
const waypoint = (namespace: string, name: string, from?: object, labels?: object) => {
  const allowedRoutes = from && { allowedRoutes: { namespaces: from } }
  const listeners = [{ name: "mesh", port: 15_008, protocol: "HBONE", ...allowedRoutes }]
  return gateway(namespace, name, { gatewayClassName: "istio-waypoint", listeners }, labels)
}
const namespace = (name: string, labels?: object) => ({
  ...{ apiVersion: "v1", kind: "Namespace", metadata: { name, ...(labels && { labels }) } },
})
const service = (place: string, name: string, labels?: object) => ({
  ...{ apiVersion: "v1", kind: "Service", ...of(name, place, labels) },
  spec: { selector: { app: name }, ports: [{ port: 80 }] },
})
const use = (name: string, place?: string) => ({
  "istio.io/use-waypoint": name,
  ...(place && { "istio.io/use-waypoint-namespace": place }),
})
const pod = (place: string, name: string, labels: object, spec: object = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", ...of(name, place, labels) },
  spec: { containers: [{ name: "app" }], ...spec },
})

let folder = ""
let out = ""
let err = ""
const put = (name: string, ...documents: readonly unknown[]): string => {
  writeFileSync(join(folder, name), documents.map(document => JSON.stringify(document)).join("\n---\n"))
  return join(folder, name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-istio-gateways-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

const whoCan = (workload: string, ...documents: readonly unknown[]): Promise<number> =>
  run("who-can", workload, "-f", put("p.yaml", ...documents))

const PUBLIC = gateway("edge", "public")
const AT_PUBLIC = policy("edge", "only", { ...paths("/shop"), ...target("Gateway", "public") })

describe("a gateway", () => {
  it.each([["edge/public"], ["edge/public-istio"]])("is asked about as %s, without its Pods", async name => {
    expect(await whoCan(name, PUBLIC, AT_PUBLIC), out).toBe(0)
    expect(out).toContain("/shop")
    expect(out).toContain("`ns[edge]-policy[only]-rule[0]`")
    expect(out).toContain("and nothing else (proved)")
    expect(out).toContain("read: 1 policy, 1 workload")
  })

  it("is asked about by its Pod", async () => {
    const running = pod("edge", "public-istio-7d-x", { [`${GATEWAY_API}/gateway-name`]: "public", tier: "edge" })
    const selecting = policy("edge", "only", { ...paths("/shop"), selector: { matchLabels: { tier: "edge" } } })
    expect(await whoCan("edge/public", PUBLIC, selecting, running), out).toBe(0)
    expect(out).toContain("/shop")
    expect(out).toContain("read: 1 policy, 1 workload")
  })

  it.each<readonly [string, object, string]>([
    ["that targets it", AT_PUBLIC, "/shop"],
    ["of its namespace", policy("edge", "only", paths("/shop")), "/shop"],
    ["of the mesh", policy("istio-system", "only", paths("/shop")), "/shop"],
    [
      "that selects it by a label of its infrastructure",
      policy("edge", "only", { ...paths("/shop"), selector: { matchLabels: { team: "edge" } } }),
      "/shop",
    ],
    [
      "that targets another Gateway",
      policy("edge", "only", { ...paths("/shop"), ...target("Gateway", "other") }),
      "any",
    ],
    [
      "that targets it from another namespace",
      policy("shop", "only", { ...paths("/shop"), ...target("Gateway", "public") }),
      "any",
    ],
    [
      "that targets all waypoints",
      policy("istio-system", "only", { ...paths("/shop"), ...target("GatewayClass", "istio-waypoint") }),
      "any",
    ],
    ["of another namespace", policy("shop", "only", paths("/shop")), "any"],
    [
      "that selects other labels",
      policy("edge", "only", { ...paths("/shop"), selector: { matchLabels: { app: "x" } } }),
      "any",
    ],
  ])("has the policies that Istio attaches to it: one %s", async (_, document, words) => {
    const others = [gateway("edge", "other"), gateway("shop", "public"), waypoint("shop", "w")]
    const labelled = gateway("edge", "public", { infrastructure: { labels: { team: "edge" } } })
    expect(await whoCan("edge/public", labelled, ...others, document), out).toBe(0)
    expect(out).toContain(words === "any" ? "any request" : words)
  })

  it("sees no identity of the mesh, and no PeerAuthentication applies to it", async () => {
    const from = [{ source: { principals: ["*"] } }]
    const known = policy("edge", "known", { rules: [{ from }], ...target("Gateway", "public") })
    const strict = policy("istio-system", "default", { mtls: { mode: "STRICT" } }, "PeerAuthentication")
    expect(await whoCan("edge/public", PUBLIC, known, strict), out).toBe(0)
    expect(out).toContain("no caller can (proved)")
    const unknown = policy("edge", "known", {
      rules: [{ from: [{ source: { notPrincipals: ["*"] } }] }],
      ...target("Gateway", "public"),
    })
    expect(await whoCan("edge/public", PUBLIC, unknown, strict), out).toBe(0)
    expect(out).toContain("policy[known]")
  })

  it("is compared by diff", async () => {
    const [from, to] = [
      put("a.yaml", AT_PUBLIC),
      put("b.yaml", { ...AT_PUBLIC, spec: { ...AT_PUBLIC.spec, rules: [{}] } }),
    ]
    expect(await run("diff", "--from", from, "--to", to, "--workloads", put("w.yaml", PUBLIC)), out).toBe(5)
    expect(out).toContain("1 workload: edge/public-istio\n  newly allowed")
    expect(out).toContain("curl -i http://shop.example/")
    expect(out).toContain("nothing else changes (proved)")
    expect(await run("diff", "--from", from, "--to", from, "--workloads", put("w.yaml", PUBLIC)), out).toBe(0)
  })

  it("is analyzed", async () => {
    const dead = policy("edge", "never", {
      ...{
        action: "DENY",
        rules: [{ to: [{ operation: { paths: ["/x"] } }], from: [{ source: { principals: ["a/ns/b/sa/c"] } }] }],
      },
      ...target("Gateway", "public"),
    })
    await run("analyze", "-f", put("p.yaml", PUBLIC, dead))
    expect(out).toContain("dead-rule")
    expect(out).not.toContain("target-leads-nowhere")
  })

  it("is asked about by a token, of which a RequestAuthentication that targets it decides", async () => {
    const tokens = policy(
      "edge",
      "tokens",
      { jwtRules: [{ issuer: "i", jwksUri: "https://i.example/jwks" }], ...target("Gateway", "public") },
      "RequestAuthentication",
    )
    const needs = policy("edge", "needs", {
      rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }],
      ...target("Gateway", "public"),
    })
    expect(await whoCan("edge/public", PUBLIC, tokens, needs), out).toBe(0)
  })

  it.each<readonly [string, object]>([
    [
      "a former targetRef",
      { ...AT_PUBLIC, spec: { ...paths("/shop"), targetRef: target("Gateway", "public").targetRefs[0] } },
    ],
    [
      "its own namespace named",
      {
        ...AT_PUBLIC,
        spec: { ...paths("/shop"), targetRefs: [{ ...target("Gateway", "public").targetRefs[0], namespace: "edge" }] },
      },
    ],
  ])("is targeted with %s", async (_, document) => {
    expect(await whoCan("edge/public", PUBLIC, document), `${out}${err}`).toBe(0)
    expect(out).toContain("/shop")
  })

  it.each<readonly [string, object, string]>([
    [
      "of another class",
      gateway("edge", "public", { gatewayClassName: "nginx" }),
      "its class `nginx` is not one of Istio",
    ],
    [
      "that is deployed by hand",
      gateway("edge", "public", { addresses: [{ type: "Hostname", value: "gw.istio-system.svc" }] }),
      "deployed by hand",
    ],
    [
      "with client certificates",
      gateway("edge", "public", {
        listeners: [{ name: "tls", port: 443, tls: { options: { "gateway.istio.io/tls-terminate-mode": "MUTUAL" } } }],
      }),
      "its listener `tls` verifies certificates of clients",
    ],
    [
      "with listeners in ListenerSets",
      gateway("edge", "public", { allowedListeners: { namespaces: { from: "Same" } } }),
      "its `allowedListeners` accept ListenerSets, which are not read",
    ],
  ])("is listed: one %s", async (_, document, why) => {
    const running = pod("edge", "public", { [`${GATEWAY_API}/gateway-name`]: "public" })
    expect(await whoCan("edge/public", document, AT_PUBLIC, running), out).toBe(4)
    expect(out).toContain(why)
    const other = put("b.yaml", policy("edge", "only", { ...paths("/x"), ...target("Gateway", "public") }))
    const cart = pod("edge", "cart", { app: "cart" })
    const words = ["--from", put("a.yaml", AT_PUBLIC), "--to", other, "--workloads", put("w.yaml", document, cart)]
    expect(await run("diff", ...words), out).toBe(4)
    expect(out).toContain(`AuthorizationPolicy edge/only: not modelled: it targets Gateway edge/public, `)
    expect(out).toContain(why)
  })

  it.each([{}, { namespaces: {} }, { namespaces: { from: "None" } }])(
    "that accepts no ListenerSets is decided",
    async one => {
      expect(await whoCan("edge/public", gateway("edge", "public", { allowedListeners: one }), AT_PUBLIC), out).toBe(0)
    },
  )

  it("with a class of Istio's controller is decided", async () => {
    const named = { ...{ apiVersion: `${GATEWAY_API}/v1`, kind: "GatewayClass", metadata: { name: "own" } } }
    const ours = { ...named, spec: { controllerName: "istio.io/gateway-controller" } }
    const document = gateway("edge", "public", { gatewayClassName: "own" })
    expect(await whoCan("edge/public-own", document, ours, AT_PUBLIC), out).toBe(0)
  })

  it.each<readonly [string, object]>([
    [
      "labels that Istio may give its Pods",
      { selector: { matchLabels: { "service.istio.io/canonical-name": "public-istio" } } },
    ],
    ["addresses of clients", { rules: [{ from: [{ source: { remoteIpBlocks: ["10.0.0.0/8"] } }] }] }],
    [
      "a header that it writes",
      { rules: [{ when: [{ key: "request.headers[X-Forwarded-Proto]", values: ["https"] }] }] },
    ],
  ])("is not decided if its policy depends on %s", async (_, spec) => {
    expect(await whoCan("edge/public", PUBLIC, policy("edge", "only", { ...paths("/shop"), ...spec })), out).toBe(4)
    expect(out).toContain("skipped: AuthorizationPolicy edge/only: ")
  })

  it("is not decided by the server name of a handshake, and by addresses only behind a tunnel", async () => {
    const when = (key: string, values: string[]) => policy("edge", "only", { rules: [{ when: [{ key, values }] }] })
    expect(await whoCan("edge/public", PUBLIC, when("connection.sni", ["shop.example"])), out).toBe(4)
    expect(out).toContain("not modelled at gateways and waypoints: `connection.sni`")
    expect(await whoCan("edge/public", PUBLIC, when("source.ip", ["10.0.0.0/8"])), out).toBe(0)
  })

  it("is not decided where an EnvoyFilter for gateways applies", async () => {
    const patches = { configPatches: [{ match: { context: "GATEWAY" } }] }
    const filter = { ...policy("edge", "lua", patches, "EnvoyFilter"), apiVersion: "networking.istio.io/v1alpha3" }
    expect(await whoCan("edge/public", PUBLIC, AT_PUBLIC, filter), out).toBe(4)
    expect(await whoCan("edge/cart", pod("edge", "cart", {}), AT_PUBLIC, PUBLIC, filter), out).toBe(0)
  })

  it("is not decided if two versions of it differ", async () => {
    const [from, to] = [
      put("a.yaml", AT_PUBLIC, PUBLIC),
      put("b.yaml", AT_PUBLIC, gateway("edge", "public", { listeners: [] })),
    ]
    expect(await run("diff", "--from", from, "--to", to, "--workloads", put("w.yaml", pod("edge", "cart", {})))).toBe(4)
    expect(out).toContain("Gateway edge/public: not modelled: two versions of it differ")
  })
})

describe("a Pod of the ambient mesh", () => {
  const ambient = { "istio.io/dataplane-mode": "ambient", ...use("w") }
  const files = [
    namespace("shop", ambient),
    service("shop", "cart"),
    waypoint("shop", "w"),
    pod("shop", "cart", { app: "cart" }),
  ]
  const atCart = policy("shop", "only", { ...paths("/cart"), ...target("Service", "cart") })
  const invariant = {
    ...{ apiVersion: "security.merlon.dev/v1alpha3", kind: "PolicyInvariant", ...of("cart", "shop") },
    spec: { never: [{ name: "n", to: [{ operation: { paths: ["/x"] } }] }] },
  }

  it.each<readonly [string, object, number, string]>([
    [
      "is not affected by a policy with targets",
      { ...atCart, spec: { ...atCart.spec, rules: [{}] } },
      5,
      "nothing else changes (proved)",
    ],
    [
      "is listed if a policy without targets changes",
      policy("shop", "all", { rules: [{}] }),
      4,
      "it is in the ambient mesh",
    ],
    [
      "is listed if the mTLS mode changes",
      policy("shop", "all", { mtls: { mode: "STRICT" } }, "PeerAuthentication"),
      5,
      "it is in the ambient mesh",
    ],
    ["is listed if an invariant is new", invariant, 5, "it is in the ambient mesh"],
  ])("%s", async (_, document, code, words) => {
    const [from, to] = [put("a.yaml", atCart), put("b.yaml", atCart, document)]
    expect(await run("diff", "--from", from, "--to", to, "--workloads", put("w.yaml", ...files)), out).toBe(code)
    expect(out).toContain(words)
    expect(out.includes("it is in the ambient mesh")).toBe(words === "it is in the ambient mesh")
    expect(out).not.toContain("over mutual TLS")
  })
})

describe("explain", () => {
  it("rejects an identity at a gateway", async () => {
    const file = put("p.yaml", PUBLIC, AT_PUBLIC)
    expect(await run("explain", "edge/public", "-f", file, "--from", "ns/a/sa/b")).toBe(2)
    expect(err).toContain("a gateway sees no identity of the mesh; leave out `--from` for `edge/public`")
    expect(await run("explain", "edge/public", "-f", file, "--path", "/shop"), out).toBe(0)
    expect(await run("explain", "edge/public", "-f", file, "--path", "/"), out).toBe(5)
  })

  it("decides nothing about a gateway that only a label describes", async () => {
    const label = `${GATEWAY_API}/gateway-name=public`
    expect(await run("explain", "edge/x", "-f", put("p.yaml", PUBLIC, AT_PUBLIC), "-l", label), out).toBe(4)
    expect(err).toContain("edge/x: not modelled: it has the label of a Gateway's proxy")
  })
})

describe("a sidecar", () => {
  it.each([
    ["Gateway", "cart"],
    ["Service", "cart"],
    ["GatewayClass", "istio-waypoint"],
  ])("ignores policies with targets: %s", async (kind, name) => {
    const closed = policy("istio-system", "no", { action: "DENY", rules: [{}], ...target(kind, name) })
    const own = policy("shop", "no", { action: "DENY", rules: [{}], ...target(kind, name) })
    const cart = pod("shop", "cart", { app: "cart" })
    expect(await whoCan("shop/cart", cart, service("shop", "cart"), namespace("shop"), closed, own), out).toBe(0)
    expect(out).toContain("any request")
  })
})

describe("a waypoint", () => {
  const W = waypoint("shop", "w")
  const CART = service("shop", "cart", use("w"))
  const SHOP = namespace("shop")
  const only = (place: string, kind: string, name: string) =>
    policy(place, "only", { ...paths("/cart"), ...target(kind, name) })

  it("decides for each Service that uses it", async () => {
    const documents = [W, CART, SHOP, service("shop", "till", use("w")), only("shop", "Service", "cart")]
    expect(await whoCan("shop/w:cart", ...documents), out).toBe(0)
    expect(out).toContain("/cart")
    expect(await whoCan("shop/w:till", ...documents), out).toBe(0)
    expect(out).toContain("any request")
    expect(await whoCan("shop/w", ...documents)).toBe(1)
    expect(err).toContain("shop/w:cart, shop/w:till")
  })

  it.each<readonly [string, object, boolean]>([
    ["that targets the Service", only("shop", "Service", "cart"), true],
    ["that targets the waypoint", only("shop", "Gateway", "w"), true],
    ["that targets all waypoints", only("istio-system", "GatewayClass", "istio-waypoint"), true],
    [
      "that targets all waypoints, outside of the root namespace",
      only("shop", "GatewayClass", "istio-waypoint"),
      false,
    ],
    ["that targets another Service", only("shop", "Service", "till"), false],
    ["that targets a Service of another namespace", only("bank", "Service", "cart"), false],
    ["of its namespace", policy("shop", "only", paths("/cart")), false],
    ["of the mesh", policy("istio-system", "only", paths("/cart")), false],
    [
      "that selects its labels",
      policy("shop", "only", {
        ...paths("/cart"),
        selector: { matchLabels: { [`${GATEWAY_API}/gateway-name`]: "w" } },
      }),
      false,
    ],
  ])("has the policies that Istio attaches to it: one %s", async (_, document, applies) => {
    const others = [service("shop", "till", use("w")), service("bank", "cart", use("none")), namespace("bank")]
    expect(await whoCan("shop/w:cart", W, CART, SHOP, ...others, document), out).toBe(0)
    expect(out.includes("any request")).toBe(!applies)
  })

  it("sees identities of all its callers", async () => {
    const from = [{ source: { notPrincipals: ["*"] } }]
    const unknown = policy("shop", "only", { rules: [{ from }], ...target("Service", "cart") })
    expect(await whoCan("shop/w:cart", W, CART, SHOP, unknown), out).toBe(0)
    expect(out).not.toContain("policy[only]")
  })

  it.each<readonly [string, string, readonly unknown[]]>([
    ["its own label", "shop/w:cart", [W, CART]],
    ["the label of its Namespace", "shop/w:cart", [W, service("shop", "cart"), namespace("shop", use("w"))]],
    [
      "its own label, not that of its Namespace",
      "shop/w:cart",
      [W, CART, namespace("shop", use("x")), waypoint("shop", "x"), service("shop", "y")],
    ],
    [
      "a waypoint of another namespace that allows all",
      "infra/w:shop/cart",
      [waypoint("infra", "w", { from: "All" }), service("shop", "cart", use("w", "infra"))],
    ],
    [
      "a waypoint of another namespace that allows it by its label",
      "infra/w:shop/cart",
      [
        waypoint("infra", "w", { from: "Selector", selector: { matchLabels: { mesh: "yes" } } }),
        service("shop", "cart", use("w", "infra")),
        namespace("shop", { mesh: "yes" }),
      ],
    ],
    [
      "a waypoint for all traffic",
      "shop/w:cart",
      [waypoint("shop", "w", undefined, { "istio.io/waypoint-for": "all" }), CART],
    ],
  ])("is the one that the Service uses by %s", async (_, workload, documents) => {
    const base = documents.some(one => (one as typeof SHOP).kind === "Namespace") ? [] : [SHOP]
    expect(await whoCan(workload, ...documents, ...base, only("shop", "Service", "cart")), `${out}${err}`).toBe(0)
    expect(out).toContain("/cart")
    expect(out).not.toContain("any request")
  })

  it.each<readonly [string, readonly unknown[], string]>([
    ["no label", [service("shop", "cart")], "uses no waypoint"],
    ["the label `none`", [service("shop", "cart", use("none"))], "uses no waypoint"],
    [
      "a waypoint for Pods",
      [waypoint("shop", "w", undefined, { "istio.io/waypoint-for": "workload" }), CART],
      "uses the waypoint shop/w, which is not for Services",
    ],
    [
      "a waypoint of another namespace",
      [waypoint("infra", "w"), service("shop", "cart", use("w", "infra"))],
      "uses the waypoint infra/w, which does not allow its namespace",
    ],
  ])("is not used: %s, and a note says so", async (_, documents, why) => {
    const running = pod("shop", "app", {})
    expect(await whoCan("shop/app", SHOP, ...documents, running, only("shop", "Service", "cart")), out).toBe(0)
    expect(err).toContain(
      `AuthorizationPolicy shop/only targets Service shop/cart, which ${why}: it is not enforced there`,
    )
    const words = [
      "--from",
      put("a.yaml", policy("shop", "b", {})),
      "--to",
      put("b.yaml", policy("shop", "b", {}), only("shop", "Service", "cart")),
    ]
    expect(await run("diff", ...words, "--workloads", put("w.yaml", SHOP, ...documents, running)), out).toBe(0)
    expect(out).toContain("nothing changes among the workloads read")
    expect(out).toContain("note: AuthorizationPolicy shop/only is added, and selects none of the workloads")
  })

  it.each<readonly [string, readonly unknown[], string]>([
    ["whose Namespace was not read", [service("shop", "cart")], "Namespace shop was not read"],
    ["whose waypoint was not read", [CART, SHOP], "its waypoint shop/w was not read"],
    ["of another kind of Gateway", [CART, SHOP, gateway("shop", "w")], "Gateway shop/w is no waypoint"],
  ])("is not known for a Service %s, and a change is not decided", async (_, documents, why) => {
    const words = ["--from", put("a.yaml"), "--to", put("b.yaml", only("shop", "Service", "cart"))]
    const running = pod("shop", "app", {})
    expect(await run("diff", ...words, "--workloads", put("w.yaml", ...documents, running)), out).toBe(4)
    expect(out).toContain(
      `skipped: AuthorizationPolicy shop/only: not modelled: it targets Service shop/cart, of which the waypoint is not known: ${why}`,
    )
    expect(await whoCan("shop/app", ...documents, running, only("shop", "Service", "cart")), out).toBe(0)
    expect(err).toContain(why)
  })

  it("decides for a ServiceEntry that uses it", async () => {
    const entry = {
      ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", ...of("pay", "shop", use("w")) },
      spec: { hosts: ["pay.example"], ports: [{ number: 443, name: "https", protocol: "HTTPS" }] },
    }
    expect(await whoCan("shop/w:ServiceEntry/pay", W, SHOP, entry, only("shop", "ServiceEntry", "pay")), err).toBe(0)
    expect(out).toContain("/cart")
    expect(out).not.toContain("any request")
  })

  it("decides for Pods if it is for their traffic", async () => {
    const all = waypoint("shop", "w", undefined, { "istio.io/waypoint-for": "all" })
    const documents = [all, CART, SHOP, only("shop", "Service", "cart")]
    expect(await whoCan("shop/w", ...documents), `${out}${err}`).toBe(0)
    expect(out).toContain("any request")
  })

  it.each(["ipBlocks", "remoteIpBlocks"])("is not decided by the address of a client: %s", async field => {
    const rules = [{ from: [{ source: { [field]: ["10.0.0.0/8"] } }] }]
    expect(
      await whoCan("shop/w:cart", W, CART, SHOP, policy("shop", "only", { rules, ...target("Service", "cart") })),
    ).toBe(4)
  })
})

describe("a policy test", () => {
  it.each([
    ["a gateway", "edge", "public", undefined, "allow"],
    ["a waypoint for a Service", "shop", "w", ["cart"], "deny"],
    ["a waypoint for another Service", "shop", "w", ["till"], "allow"],
  ])("is about %s", async (_, place, name, services, expected) => {
    const closed = policy("shop", "no", { action: "DENY", rules: [{}], ...target("Service", "cart") })
    put("policies.yaml", PUBLIC, waypoint("shop", "w"), service("shop", "cart", use("w")), namespace("shop"), closed)
    const workload = {
      namespace: place,
      labels: { [`${GATEWAY_API}/gateway-name`]: name },
      ...(services && { services }),
    }
    const test = {
      ...{ apiVersion: "test.merlon.dev/v1alpha1", kind: "PolicyTest", policies: ["policies.yaml"] },
      workloads: { it: workload },
      cases: [{ name: "c", request: name === "w" ? { from: "cluster.local/ns/a/sa/b" } : {}, expect: expected }],
    }
    expect(await run("test", put("p.test.yaml", test)), `${out}${err}`).toBe(0)
  })
})
