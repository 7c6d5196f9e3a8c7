// SPDX-License-Identifier: Apache-2.0
// Questions about unmodified policies of Istio: which mesh a set is for, how that mesh is configured, and what is not
// modelled.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const policy = (name: string, spec: object, apiVersion = "security.istio.io/v1", kind = "AuthorizationPolicy") => ({
  ...{ apiVersion, kind, metadata: { name, namespace: "shop" }, spec },
})
const ALLOW_GET = policy("cart", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] })
const ALLOW_ALL = policy("cart", { rules: [{}] })
const OURS = policy("ours", { rules: [{}] }, "security.merlon.dev/v1alpha3")
const DENY_ADMIN = { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] }
const CONFIG = {
  trustDomain: "example.org",
  rootNamespace: "mesh",
  pathNormalization: { normalization: "MERGE_SLASHES" },
}
const CONFIG_MAP = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio", namespace: "istio-system" },
  data: { mesh: JSON.stringify(CONFIG) },
}
const OPERATOR = { apiVersion: "install.istio.io/v1alpha1", kind: "IstioOperator", spec: { meshConfig: CONFIG } }
const VALUES = { ...OPERATOR, spec: { values: { meshConfig: CONFIG } } }
const SAIL = { ...VALUES, apiVersion: "sailoperator.io/v1", kind: "Istio" }
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "cart", namespace: "shop", labels: { app: "cart" } },
  spec: { containers: [{ name: "app", ports: [{ containerPort: 8080 }] }] },
}

let folder = ""
let out = ""
let err = ""
const at = (name: string): string => join(folder, name)
const put = (name: string, ...documents: readonly unknown[]): string => {
  writeFileSync(at(name), documents.map(document => JSON.stringify(document)).join("\n---\n"))
  return at(name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-dialect-"))
})
beforeEach(() => {
  put("pod.yaml", POD)
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

const diff = (before: string, after: string, ...more: string[]): Promise<number> =>
  run("diff", "--from", before, "--to", after, "--workloads", at("pod.yaml"), ...more)
const explain = (policies: string, path: string, ...more: string[]): Promise<number> =>
  run("explain", "shop/cart", "-f", policies, "-f", at("pod.yaml"), "--path", path, ...more)

describe("a set of policies for Istio", () => {
  it.each(["v1", "v1beta1"])("is read without flags, in version %s", async version => {
    const group = `security.istio.io/${version}`
    const [before, after] = [
      put("a.yaml", { ...ALLOW_GET, apiVersion: group }),
      put("b.yaml", { ...ALLOW_ALL, apiVersion: group }),
    ]
    expect(await diff(before, after)).toBe(5)
    expect(out).toContain("read: 1 policy, 1 workload")
    expect(await diff(before, before)).toBe(0)
    expect(err).toContain("these are Istio's policies")
  })

  it("is read without flags in JSON with escaped slashes", async () => {
    put("a.json", ALLOW_ALL)
    writeFileSync(at("a.json"), readFileSync(at("a.json"), "utf8").replaceAll("/", "\\/"))
    expect(await diff(put("b.yaml", ALLOW_GET), at("a.json"))).toBe(5)
    expect(await diff(at("a.json"), at("a.json"))).toBe(0)
  })

  it("is an error in a version that Istio does not serve", async () => {
    const file = put("a.yaml", { ...ALLOW_GET, apiVersion: "security.istio.io/v1alpha1" }, POD)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(1)
    expect(err).toContain("write `security.istio.io/v1`")
  })

  it.each([
    ["who-can", () => ["who-can", "shop/cart"]],
    ["what-can", () => ["what-can", "shop/cart"]],
    ["analyze", () => ["analyze", "--fail-on", "never"]],
    ["explain", () => ["explain", "shop/cart", "--path", "/"]],
  ])("answers %s", async (_, command) => {
    expect(await run(...command(), "-f", put("a.yaml", ALLOW_GET), "-f", at("pod.yaml"))).toBe(0)
    expect(out).toMatch(/read: 1 policy, 1 workload|ns\[shop\]-policy\[cart\]-rule\[0\] matches/)
  })

  it("is decided like in Istio: a template matches only characters that URIs allow", async () => {
    const file = put("a.yaml", policy("no", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/{**}"] } }] }] }))
    await explain(file, "/x")
    expect(out).toMatch(/^denied/m)
    await explain(file, "/[x")
    expect(out).toMatch(/^allowed/m)
  })

  it("is explained with the server name of the TLS handshake, in lower case", async () => {
    const when = [{ key: "connection.sni", values: ["a.example"] }]
    const file = put("a.yaml", policy("no", { action: "DENY", rules: [{ when }] }))
    const from = ["--from", "ns/a/sa/b"]
    expect(await explain(file, "/", ...from, "--sni", "A.example")).toBe(5)
    expect(await explain(file, "/", ...from, "--sni", "b.example")).toBe(0)
  })

  it("may contain invariants in Merlon's group", async () => {
    const spec = { never: [{ name: "no deletes", to: [{ operation: { methods: ["DELETE"] } }] }] }
    const invariant = policy("limits", spec, "security.merlon.dev/v1alpha3", "PolicyInvariant")
    const [before, after] = [put("a.yaml", ALLOW_GET, invariant), put("b.yaml", ALLOW_ALL, invariant)]
    expect(await diff(before, after, "-o", "json")).toBe(5)
    expect(JSON.parse(out).read).toMatchObject({ policies: 2, skipped: [] })
    expect(out).toContain("no deletes")
  })
})

describe("a set for two meshes", () => {
  it("is an error that says how to split it", async () => {
    expect(await run("who-can", "shop/cart", "-f", put("a.yaml", ALLOW_GET, OURS, POD))).toBe(1)
    expect(err).toContain("a.yaml: AuthorizationPolicy cart for Istio")
    expect(err).toContain("a.yaml: AuthorizationPolicy ours for Merlon")
  })

  it.each(["istio", "merlon"])("is read in part with --dialect %s, and skipped policies are listed", async dialect => {
    const file = put("a.yaml", ALLOW_GET, OURS, POD)
    expect(await run("who-can", "shop/cart", "-f", file, "--dialect", dialect)).toBe(4)
    expect(out).toMatch(/read: 1 policy.*\nskipped: .*AuthorizationPolicy/)
  })

  it("is not assumed if one mesh is only mentioned", async () => {
    const mention = { ...POD, metadata: { ...POD.metadata, name: "b", annotations: { was: "security.istio.io/v1" } } }
    expect(await run("who-can", "shop/cart", "-f", put("a.yaml", OURS, POD, mention))).toBe(0)
  })
})

describe("the configuration of the mesh", () => {
  const DENIED = /^denied|DENIED|403/m

  it.each([
    ["the ConfigMap `istio` among the files", () => [put("p.yaml", policy("no", DENY_ADMIN), CONFIG_MAP)]],
    ["an IstioOperator among the files", () => [put("p.yaml", policy("no", DENY_ADMIN), OPERATOR)]],
    ["the values of an IstioOperator", () => [put("p.yaml", policy("no", DENY_ADMIN), VALUES)]],
    ["the operator Sail", () => [put("p.yaml", policy("no", DENY_ADMIN), SAIL)]],
    ["--mesh-config", () => [put("p.yaml", policy("no", DENY_ADMIN)), "--mesh-config", put("mesh.yaml", CONFIG)]],
    [
      "--mesh-config with the ConfigMap",
      () => [put("p.yaml", policy("no", DENY_ADMIN)), "--mesh-config", put("mesh.yaml", CONFIG_MAP)],
    ],
  ] as const)("comes from %s", async (_, files) => {
    const [policies = "", ...more] = files()
    await explain(policies, "//admin", ...more)
    expect(out).toMatch(DENIED)
  })

  it("defaults to Istio's defaults: slashes are not merged", async () => {
    await explain(put("p.yaml", policy("no", DENY_ADMIN)), "//admin")
    expect(out).not.toMatch(DENIED)
  })

  it("names the root namespace", async () => {
    const meshWide = { ...policy("no", { action: "DENY", rules: [{}] }), metadata: { name: "no", namespace: "mesh" } }
    await explain(put("p.yaml", meshWide, CONFIG_MAP), "/")
    expect(out).toMatch(DENIED)
  })

  it.each([
    ["another kind", POD, "neither a MeshConfig nor"],
    ["an unknown normalization", { pathNormalization: { normalization: "ALL" } }, "known are DEFAULT"],
    ["a trust domain that is no text", { trustDomain: 5 }, "no valid `trustDomain`"],
    ["aliases that are no list", { trustDomainAliases: "a" }, "no valid `trustDomainAliases`"],
    ["a ConfigMap that cannot be parsed", { ...CONFIG_MAP, data: { mesh: "a: [" } }, "not one YAML document"],
  ])("is rejected if it is %s", async (_, config, message) => {
    expect(await explain(put("p.yaml", ALLOW_GET), "/", "--mesh-config", put("mesh.yaml", config))).toBe(1)
    expect(err).toContain(message)
  })
})

describe("the configuration of a revision", () => {
  const canary = { ...CONFIG_MAP, metadata: { name: "istio-canary", namespace: "istio-system" } }
  const other = { ...CONFIG_MAP, data: { mesh: JSON.stringify({ ...CONFIG, trustDomain: "other.org" }) } }
  const labelled = { ...POD, metadata: { ...POD.metadata, labels: { app: "cart", "istio.io/rev": "canary" } } }
  const metadata = { name: "shop", labels: { "istio.io/rev": "canary" } }
  const revised = { apiVersion: "v1", kind: "Namespace", metadata }
  const [tagged, ofDefault] = ["stable", "default"].map(revision => {
    return { ...revised, metadata: { ...metadata, labels: { "istio.io/rev": revision } } }
  })

  it("is used if there is no other", async () => {
    expect(
      await run(
        "explain",
        "shop/cart",
        "-f",
        put("p.yaml", policy("no", DENY_ADMIN), canary, POD),
        "--path",
        "//admin",
      ),
    ).toBe(5)
  })

  it.each([
    ["not for Pods of the default revision", [POD], 0],
    ["and leaves answers about its Pods open", [labelled], 4],
    ["and leaves answers about Pods of its Namespaces open", [POD, revised], 4],
    ["and leaves answers about Pods of a tag open", [POD, tagged], 4],
    ["not for Pods of Namespaces of the default one", [POD, ofDefault], 0],
  ])("is beside the default one, %s", async (_, objects, code) => {
    const file = put("p.yaml", ALLOW_GET, other, canary, ...objects)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(code)
    expect(code === 0 ? err : out).toContain("ConfigMap istio-canary: it configures the Pods of this revision")
    expect(await run("diff", "--from", file, "--to", file, "--workloads", file)).toBe(code)
    expect(await run("who-can", "shop/cart", "-f", file, "--mesh-config", put("mesh.yaml", CONFIG))).toBe(0)
  })
})

it("two different mesh configurations are an error, and two equal ones are not", async () => {
  const other = { ...CONFIG_MAP, data: { mesh: JSON.stringify({ ...CONFIG, trustDomain: "other.org" }) } }
  const before = put("a.yaml", ALLOW_GET, CONFIG_MAP)
  expect(await diff(before, put("b.yaml", ALLOW_GET, other))).toBe(1)
  expect(err).toContain("different mesh configurations")
  expect(await diff(before, put("b.yaml", ALLOW_GET, CONFIG_MAP))).toBe(0)
  expect(await diff(before, put("b.yaml", ALLOW_GET, other), "--mesh-config", put("mesh.yaml", CONFIG))).toBe(0)
})

describe("what is not modelled", () => {
  it.each<readonly [string, string, object]>([
    ["EnvoyFilter", "networking.istio.io/v1alpha3", {}],
    ["EnvoyFilter", "networking.istio.io/v1alpha3", { configPatches: [{ match: { context: "SIDECAR_INBOUND" } }] }],
    ["Sidecar", "networking.istio.io/v1", { ingress: [{ port: { number: 9080 } }] }],
    ["WasmPlugin", "extensions.istio.io/v1alpha1", {}],
    ["TrafficExtension", "extensions.istio.io/v1alpha1", {}],
    ["Sidecar", "networking.istio.io/v1", { workloadSelector: { labels: { app: "cart" } }, ingress: [{}] }],
    ["WasmPlugin", "extensions.istio.io/v1alpha1", { selector: { matchLabels: { app: "cart" } } }],
    ["AuthorizationPolicy", "security.istio.io/v1", { enforcement: "Shadow", rules: [{}] }],
    ["RequestAuthentication", "security.istio.io/v1", { jwtRules: [{ issuer: "i", requireExpiration: true }] }],
    [
      "AuthorizationPolicy",
      "security.istio.io/v1",
      { rules: [{ when: [{ key: "experimental.envoy.filters.network.mysql_proxy[db.t]", values: ["[update]"] }] }] },
    ],
    ...["x-request-id", "X-Envoy-Internal", "connection", "x-forwarded-client-cert"].map(name => {
      const when = [{ key: `request.headers[${name}]`, values: ["*"] }]
      return ["AuthorizationPolicy", "security.istio.io/v1", { rules: [{ when }] }] as const
    }),
  ])("and could decide is listed, and nothing is claimed: %s of %s", async (kind, apiVersion, spec) => {
    const file = put("p.yaml", ALLOW_GET, policy("other", spec, apiVersion, kind), POD)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(4)
    expect(out).toContain(`skipped: ${file}: ${kind} other: not modelled`)
  })

  it.each([
    ...["VirtualService", "DestinationRule", "ServiceEntry", "Gateway"].map(kind => [kind, {}] as const),
    ["Sidecar", { egress: [{ hosts: ["./*"] }] }],
    ["EnvoyFilter", { configPatches: [{ match: { context: "SIDECAR_OUTBOUND" } }, { match: { context: "GATEWAY" } }] }],
  ] as const)("and decides nothing is noted: %s", async (kind, spec) => {
    const file = put("p.yaml", ALLOW_GET, policy("other", spec, "networking.istio.io/v1", kind), POD)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(0)
    expect(err).toContain(`${kind} other: not modelled`)
  })
})

describe("what is not modelled, and is about other workloads,", () => {
  const gateway = { "gateway.networking.k8s.io/gateway-name": "g" }
  const group = (kind: string): string => (kind === "Service" ? "" : "gateway.networking.k8s.io")
  const target = (kind: string, name = "g") => ({ targetRefs: [{ group: group(kind), kind, name }], rules: [{}] })
  const envoyFilter = (spec: object, namespace = "shop") => {
    const filter = policy("other", spec, "networking.istio.io/v1alpha3", "EnvoyFilter")
    return { ...filter, metadata: { ...filter.metadata, namespace } }
  }
  const labelled = { ...POD, metadata: { ...POD.metadata, labels: { ...POD.metadata.labels, ...gateway } } }

  it.each([
    ["of another namespace", envoyFilter({}, "bank"), POD, 0],
    ["of the root namespace", envoyFilter({}, "istio-system"), POD, 4],
    ["with other labels", envoyFilter({ workloadSelector: { labels: { app: "other" } } }), POD, 0],
    ["for a Gateway, at a sidecar", policy("other", target("Gateway")), POD, 0],
    ["for a Service, at a sidecar", policy("other", target("Service", "cart")), POD, 0],
    ["for a Gateway, at that gateway", policy("other", target("Gateway")), labelled, 4],
    ["for a Gateway, at another gateway", policy("other", target("Gateway", "h")), labelled, 4],
    ["for an HTTPRoute, at any gateway", policy("other", target("HTTPRoute", "h")), labelled, 4],
  ] as const)("is noted where it can decide nothing: %s", async (_, document, pod, code) => {
    const file = put("p.yaml", ALLOW_GET, document, pod)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(code)
    expect(`${out}${err}`).toMatch(new RegExp(`${document.kind} (shop/)?other: not modelled`))
    expect(await run("diff", "--from", file, "--to", file, "--workloads", file)).toBe(code)
  })
})

describe("Envoy's access log", () => {
  const line = (fields: object = {}) => ({
    ...{ start_time: "2026-11-18T10:00:00Z", method: "GET", path: "/items?id=1", response_code: 200 },
    ...{ response_code_details: "via_upstream", authority: "cart.shop", upstream_cluster: "inbound|8080||" },
    ...{ downstream_local_address: "10.0.0.7:8080", downstream_remote_address: "10.0.0.9:51234" },
    downstream_peer_uri_san: "spiffe://cluster.local/ns/shop/sa/web",
    ...fields,
  })
  const suggest = (log: string, ...more: string[]): Promise<number> =>
    run("suggest", "shop/cart", "--access-log", log, "-f", put("p.yaml", ALLOW_ALL), "-f", at("pod.yaml"), ...more)
  const write = (...lines: readonly (object | string)[]): string => {
    const texts = lines.map(one => (typeof one === "string" ? one : JSON.stringify(one)))
    writeFileSync(at("envoy.json"), texts.join("\n"))
    return at("envoy.json")
  }

  it("is a source of suggestions in Istio's API group", async () => {
    expect(await suggest(write(line(), line({ path: "/items?id=2" }))), err).toBe(0)
    expect(out).toContain("apiVersion: security.istio.io/v1")
    expect(out).toContain("cluster.local/ns/shop/sa/web")
    expect(out).toContain("/items")
  })

  it("reports skipped lines, each with its number and the reason", async () => {
    const log = write(
      ...[line(), "", "{", line({ path: {} }), line({ upstream_cluster: "outbound|80||x" }), "\u001b[2J"],
      line({ downstream_peer_uri_san: "-", requested_server_name: "outbound_.80_._.cart.shop" }),
    )
    expect(await suggest(log), err).toBe(0)
    expect(err).toContain(`${log}:3: skipped: it is no line of Envoy's access log`)
    expect(err).toContain(`${log}:4: skipped: the field \`path\` is neither text nor a number`)
    expect(err).not.toContain(`${log}:5:`)
    expect(err).toContain(`${log}:7: skipped: it does not tell the caller's identity`)
    expect(err).not.toContain("\u001b[2J")
  })

  it.each([
    [
      "without a usable line",
      ["shop/cart", "--access-log", "LOG"],
      "has no line of Envoy's access log that can be used",
    ],
    ["without a workload", ["--access-log", "LOG"], "name the workload whose log it is"],
    ["beside recorded calls", ["shop/cart", "--access-log", "LOG", "--calls", "x"], "goes without `--calls`"],
  ])("is an error %s", async (_, args, message) => {
    const log = write("{")
    const named = args.map(arg => (arg === "LOG" ? log : arg))
    expect(await run("suggest", ...named, "-f", put("p.yaml", ALLOW_ALL), "-f", at("pod.yaml"))).not.toBe(0)
    expect(err).toContain(message)
  })

  it("is explained line by line, and compared with the explanation", async () => {
    const text = JSON.stringify(line({ method: "POST" }))
    expect(await run("explain", "shop/cart", "-f", put("p.yaml", ALLOW_GET), "-f", at("pod.yaml"), "--log", text)).toBe(
      5,
    )
    expect(out).toContain("POST /items at cart.shop")
    expect(err).toContain("according to the log, the proxy allowed it")
  })
})

describe("CUSTOM, whose provider may deny", () => {
  const rules = [{ to: [{ operation: { paths: ["/admin"] } }] }]
  const custom = (name = "opa") => policy("ext", { action: "CUSTOM", provider: { name }, rules })

  it("keeps who-can from claiming that something is allowed", async () => {
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ALLOW_GET, custom(), POD))).toBe(0)
    expect(out).toContain("unless `opa` denies what `ns[shop]-policy[ext]-rule[0]` matches")
    expect(out).toContain("read: 2 policies, 1 workload")
    expect(await run("what-can", "shop/cart", "-f", at("p.yaml"), "-o", "json")).toBe(0)
    expect(JSON.parse(out).ways).toMatchObject([{ providers: ["opa"] }])
  })

  it.each([
    ["added", [], [custom()], "newly allowed unless `opa` denies, until now allowed", "narrow", "widen"],
    ["removed", [custom()], [], "newly allowed, until now allowed unless `opa` denies", "widen", "narrow"],
  ])("is a change where it is %s", async (_, before, after, words, counts, countsNot) => {
    const [from, to] = [put("a.yaml", ALLOW_GET, ...before), put("b.yaml", ALLOW_GET, ...after)]
    expect(await diff(from, to, "--fail-on", countsNot)).toBe(0)
    expect(await diff(from, to, "--fail-on", counts)).toBe(5)
    expect(out).toContain(words)
    expect(out).toContain("/admin from any caller")
    expect(out).toContain("nothing else changes (proved)")
  })

  it("is a change if another provider is asked", async () => {
    const [from, to] = [put("a.yaml", ALLOW_GET, custom()), put("b.yaml", ALLOW_GET, custom("other"))]
    expect(await diff(from, to, "-o", "json")).toBe(5)
    const providers = { before: ["opa"], after: ["other"] }
    const [change] = JSON.parse(out).changes
    expect(change).toMatchObject({ before: "custom", direction: "custom", providers })
    expect(await diff(from, from)).toBe(0)
    expect(out).toContain("nothing changes")
  })

  it.each(["never", "always"])("leaves an invariant with %s undecided", async holds => {
    put("p.yaml", ALLOW_GET, custom())
    const stated = [{ name: "stated", to: [{ operation: { methods: ["GET"], paths: ["/admin"] } }] }]
    const workloads = { cart: { namespace: "shop" } }
    const file = put("p.test.yaml", { ...TEST, policies: ["p.yaml"], workloads, [holds]: stated })
    expect(await run("test", file, "--dialect", "istio")).toBe(1)
    expect(out).toContain("it depends on `opa`: GET /admin")
  })

  it.each([
    [
      "GET",
      "/admin",
      4,
      "allowed unless a provider denies it",
      "? custom     ns[shop]-policy[ext]-rule[0] asks `opa`, which may deny",
    ],
    ["POST", "/admin", 5, "denied: 403", "? custom     ns[shop]-policy[ext]-rule[0] asks `opa`, which may deny"],
    ["GET", "/", 0, "allowed", "✓ custom     none of 1 CUSTOM policies matches"],
  ])("is explained: %s %s", async (method, path, code, headline, stage) => {
    expect(await explain(put("p.yaml", ALLOW_GET, custom()), path, "--method", method)).toBe(code)
    expect(out).toContain(headline)
    expect(out).toContain(stage)
  })

  it("is a separate outcome in policy tests", async () => {
    put("p.yaml", ALLOW_GET, custom())
    const cases = ["allow", "deny", "depends"].map(expect => ({ name: expect, request: { path: "/admin" }, expect }))
    const workloads = { cart: { namespace: "shop" } }
    const file = put("p.test.yaml", { ...TEST, policies: ["p.yaml"], workloads, cases })
    expect(await run("test", file, "--dialect", "istio", "-o", "json")).toBe(1)
    expect(out.match(/"passed": ?(true|false)/g)?.map(text => text.includes("true"))).toEqual([false, false, true])
  })

  it.each([
    ["without a provider", { provider: undefined }, "`provider.name` must not be empty"],
    ["without rules", { rules: undefined }, "CUSTOM action without `rules`"],
    ["that looks at the caller", { rules: [{ from: [{ source: { principals: ["*"] } }] }] }, "`principals` is not"],
    [
      "that looks at a token",
      { rules: [{ when: [{ key: "request.auth.claims[a]", values: ["b"] }] }] },
      "not supported",
    ],
  ])("is rejected %s, as by Istio", async (_, other, message) => {
    const spec = { ...custom().spec, ...other }
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", policy("ext", spec), POD))).toBe(1)
    expect(err).toContain(message)
  })

  it("is not decided on headers, which Istio reads before tokens", async () => {
    const when = [{ key: "request.headers[x-user]", values: ["alice"] }]
    const spec = { ...custom().spec, rules: [{ when }] }
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ALLOW_GET, policy("ext", spec), POD))).toBe(4)
    expect(`${out}${err}`).toContain("a CUSTOM rule on headers sees them before tokens are read")
  })

  it("is not decided if policies of one workload ask several providers", async () => {
    const second = { ...custom("other"), metadata: { name: "second", namespace: "shop" } }
    const elsewhere = { ...second, spec: { ...second.spec, selector: { matchLabels: { app: "x" } } } }
    const file = put("p.yaml", ALLOW_GET, custom(), second, POD)
    expect(await run("who-can", "shop/cart", "-f", file)).toBe(4)
    expect(out).toContain("second: not modelled: it asks `other`, and other CUSTOM policies of the workload ask `opa`")
    expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ALLOW_GET, custom(), elsewhere, POD))).toBe(0)
  })

  it.each([
    ["is not decided if the mesh configuration does not declare its provider", "other", 4],
    ["is decided if the mesh configuration declares its provider", "opa", 0],
  ])("%s", async (_, name, code) => {
    const declared = { extensionProviders: [{ name, envoyExtAuthzGrpc: { service: "opa.opa", port: 9191 } }] }
    const config = { ...CONFIG_MAP, data: { mesh: JSON.stringify(declared) } }
    const file = put("p.yaml", ALLOW_GET, custom(), POD, config)
    expect(await run("who-can", "shop/cart", "-f", file), `${out}${err}`).toBe(code)
    expect(out.includes("declares no provider `opa`")).toBe(code === 4)
    expect(await run("diff", "--from", file, "--to", file, "--workloads", file)).toBe(code)
  })

  it("may deny in Merlon's own dialect too", async () => {
    const ours = { ...custom(), apiVersion: "security.merlon.dev/v1alpha3" }
    expect(await run("who-can", "shop/cart", "--dialect", "merlon", "-f", put("p.yaml", ours, POD))).toBe(0)
    expect(out).toContain("unless `opa` denies")
  })
})

const TEST = { apiVersion: "test.merlon.dev/v1alpha1", kind: "PolicyTest" }

it.each([[[]], [["--dialect", "istio"]]])("policy tests read Istio's policies with flags %j", async flags => {
  put("p.yaml", ALLOW_GET)
  const file = put("p.test.yaml", {
    apiVersion: "test.merlon.dev/v1alpha1",
    kind: "PolicyTest",
    policies: ["p.yaml"],
    workloads: { cart: { namespace: "shop" } },
    cases: [{ name: "denied", request: { method: "POST" }, expect: "deny" }],
  })
  expect(await run("test", file, ...flags), `${out}${err}`).toBe(0)
  expect(err).toContain("these are Istio's policies")
})

it.each([
  ["could decide", {}, 4],
  ["are about other workloads", { workloadSelector: { labels: { app: "x" } } }, 0],
])("policy tests list documents that are not modelled and %s", async (_, spec, code) => {
  const filter = policy("lua", spec, "networking.istio.io/v1alpha3", "EnvoyFilter")
  const closed = policy("no", { targetRefs: [{ kind: "Service", name: "cart" }], action: "DENY", rules: [{}] })
  const workloads = { cart: { namespace: "shop", services: ["cart"] } }
  const cases = [{ name: "allowed", request: {}, expect: "allow" }]
  put("p.yaml", ALLOW_GET, filter, closed)
  for (const policies of [{ policies: ["p.yaml"] }, { documents: [ALLOW_GET, filter, closed] }]) {
    expect(await run("test", put("p.test.yaml", { ...TEST, ...policies, workloads, cases })), out).toBe(code)
    expect(code === 0 ? err : out).toContain("it can change which requests a workload's proxy allows")
  }
})

it.each([
  ["--dialect with --mesh", ["--dialect", "istio", "--mesh", "own"]],
  ["--mesh-config for Merlon's own", ["--dialect", "merlon", "--mesh-config", "x"]],
])("rejects %s", async (_, flags) => {
  expect(await run("who-can", "shop/cart", "-f", put("p.yaml", ALLOW_GET, POD), ...flags)).not.toBe(0)
  expect(err).toContain(flags[0] === "--dialect" && flags[1] === "istio" ? "`--dialect`" : "`--mesh-config`")
})
