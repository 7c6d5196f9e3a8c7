// SPDX-License-Identifier: Apache-2.0
// Which mesh is used, by what the cluster serves and what flags name; and commands against a cluster with other mesh
// settings.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ApiError } from "@merlon/control/kubernetes"
import { meshNames } from "@merlon/policy/mesh"
import { servedVersions } from "@merlon/policy/resources"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"
import { discoverMesh } from "./discover-mesh.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

interface Installed {
  readonly mesh: string
  readonly domain: string
}

const MERLON: Installed = { mesh: "merlon", domain: "merlon.dev" }
const DUBBO: Installed = { mesh: "dubbo", domain: "dubbo.apache.org" }

/** The discovery documents of an API server. */
function discovery(meshes: readonly Installed[]): ReadonlyMap<string, object> {
  const group = (name: string) => ({ name, preferredVersion: { groupVersion: `${name}/v1`, version: "v1" } })
  const policies = (categories: readonly string[]) => ({
    ...{ kind: "APIResourceList", apiVersion: "v1" },
    resources: [{ name: "authorizationpolicies", kind: "AuthorizationPolicy", namespaced: true, categories }],
  })
  const groups = ["apps", "security.istio.io", ...meshes.map(({ domain }) => `security.${domain}`)].map(group)
  return new Map<string, object>([
    ["/apis", { kind: "APIGroupList", apiVersion: "v1", groups }],
    ["/apis/security.istio.io/v1", policies(["istio-io", "security-istio-io"])],
    ...meshes.map(({ mesh, domain }) => [`/apis/security.${domain}/v1`, policies([mesh, `${mesh}-policy`])] as const),
  ])
}

const api = (meshes: readonly Installed[]) => {
  const served = discovery(meshes)
  return {
    request: async ({ path }: { readonly path: string }) => {
      const answer = served.get(path)
      if (answer !== undefined) return answer
      throw new ApiError(404, "NotFound", "the server could not find the requested resource")
    },
    close: async () => undefined,
    lines: () => expect.unreachable("nothing is followed"),
  } as unknown as Parameters<typeof discoverMesh>[0] // only what the code under test uses
}

describe("the mesh", () => {
  it.each([
    ["the only one", [DUBBO], {}, "dubbo dubbo.apache.org true"],
    ["the one with the flag's word", [MERLON, DUBBO], { mesh: "dubbo" }, "dubbo dubbo.apache.org true"],
    ["the one with the flag's domain", [MERLON, DUBBO], { domain: "merlon.dev" }, "merlon merlon.dev true"],
    ["the flags', whatever is there", [DUBBO], { mesh: "a", domain: "a.example" }, "a a.example true"],
    ["the usual one where none is there", [], {}, "merlon merlon.dev false"],
    ["the flag's where it is not there", [DUBBO], { domain: "a.example" }, "merlon a.example false"],
  ] as const)("is %s", async (_, meshes, given, found) => {
    const { names, installed } = await discoverMesh(api(meshes), given)
    expect(`${names.mesh} ${names.domain} ${installed}`).toBe(found)
  })

  it("must be named if there are several", async () => {
    await expect(discoverMesh(api([MERLON, DUBBO]), {})).rejects.toThrow(
      "the cluster has several meshes: `dubbo` (dubbo.apache.org), `merlon` (merlon.dev); choose one with `--mesh dubbo --domain dubbo.apache.org`",
    )
  })
})

const settings = { trustDomain: "td.example", trustDomainAliases: [], pathNormalization: "NONE", numTrustedProxies: 0 }
const group = `/apis/security.dubbo.apache.org/${servedVersions(meshNames(DUBBO)).at(-1)}`
const ANSWERS = "/apis/answers.dubbo.apache.org/v1alpha1"
const metadata = { name: "deny", namespace: "foo" }
const policy = (paths: readonly string[]) => ({
  ...{ apiVersion: "security.dubbo.apache.org/v1alpha3", kind: "AuthorizationPolicy", metadata },
  spec: { action: "DENY", rules: [{ to: [{ operation: { paths } }] }] },
})
const POD = {
  metadata: { name: "web", namespace: "foo" },
  spec: { containers: [{ name: "app", ports: [{ containerPort: 8080 }] }] },
}

describe("commands", () => {
  const folder = mkdtempSync(join(tmpdir(), "discover-mesh-"))
  const kubeconfig = join(folder, "kubeconfig")
  const file = join(folder, "policy.yaml")
  let routes: Map<string, object>
  let server: Server
  let out = ""
  let err = ""

  beforeAll(async () => {
    server = createServer((request, response) => {
      const [path = ""] = (request.url ?? "").split("?")
      const answer = routes.get(path)
      const missing = {
        kind: "Status",
        status: "Failure",
        code: 404,
        reason: "NotFound",
        message: "404 page not found",
      }
      request.resume()
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify(answer ?? missing))
    })
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    const named = (name: string, what: object): object => ({ name: "x", [name]: what })
    const config = {
      "current-context": "x",
      contexts: [named("context", { cluster: "x", user: "x" })],
      clusters: [named("cluster", { server: `http://127.0.0.1:${port}` })],
      users: [named("user", { token: "t" })],
    }
    writeFileSync(kubeconfig, JSON.stringify(config))
    // Under NONE a request can have this path; under every other setting it is normalized to `/a/b` before it is judged.
    writeFileSync(file, JSON.stringify(policy(["/a/./b"])))
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })

  beforeEach(() => {
    const list = (items: readonly object[]): object => ({ kind: "List", apiVersion: "v1", metadata: {}, items })
    const proxy = { metadata: { name: "web", namespace: "foo" }, spec: { behind: 0 } }
    const proxies = { ...list([proxy]), controlPlane: { version: "1", settings } }
    const ready = {
      metadata: { name: "web", namespace: "foo" },
      spec: { state: "ready", ports: [], calls: 1, plaintext: [] },
    }
    const stored = ["requestauthentications", "peerauthentications", "policyinvariants"]
    routes = new Map<string, object>([
      ...discovery([DUBBO]),
      ["/api/v1/pods", list([POD])],
      ["/api/v1/services", list([])],
      [`${group}/authorizationpolicies`, list([policy(["/other"])])],
      ...stored.map(plural => [`${group}/${plural}`, list([])] as const),
      ...[`${ANSWERS}/namespaces/default/proxies`, `${ANSWERS}/namespaces/foo/proxies`, `${ANSWERS}/proxies`].map(
        path => [path, proxies] as const,
      ),
      [`${ANSWERS}/namespaces/foo/readiness`, list([ready])],
      [`${ANSWERS}/namespaces/typo/readiness`, list([])],
      [`${ANSWERS}/namespaces/typo/proxies`, { ...proxies, items: [] }],
    ])
  })

  async function run(words: string): Promise<number> {
    let code = 0
    ;({ code, out, err } = await typed([...words.split(" "), "--kubeconfig", kubeconfig]))
    return code
  }

  it.each([
    ["what-can foo/web", 0],
    ["what-can foo/web -n typo", 4],
    ["who-can foo/web", 0],
    ["analyze --fail-on never", 0],
    ["mtls ready -n foo", 0],
    ["mtls ready -n typo", 4],
    ["proxy status -n foo", 0],
    ["proxy status -n typo", 4],
  ])("`%s` finds the mesh, and exits with %d", async (words, code) => {
    expect([await run(words), err]).toEqual([code, expect.anything()])
    expect(out.includes("skipped: ")).toBe(code === 4)
    if (code === 4) expect(out).not.toContain("(proved)")
  })

  it("compare under the settings of the mesh, which a flag overrides", async () => {
    expect(await run(`diff -f ${file}`)).toBe(5)
    expect(out).toContain("/a/./b")
    expect(await run(`diff -f ${file} --path-normalization BASE --trust-domain td.example`)).toBe(5)
    expect(err).toContain("`--path-normalization BASE` instead of the mesh's own, `NONE`")
    expect(out).not.toContain("/a/./b")
  })

  it.each(["what-can foo/web", "who-can foo/web", "analyze --fail-on never"])(
    "prove nothing where the control plane does not tell its settings: `%s`",
    async words => {
      for (const path of routes.keys()) if (path.startsWith(ANSWERS)) routes.delete(path)
      expect(await run(words)).toBe(4)
      expect(out).toMatch(/skipped: the settings of the mesh: the control plane of `dubbo` .* does not answer/)
      expect(out).not.toContain("(proved)")
    },
  )

  it.each(["what-can foo/web", "analyze --fail-on never"])("prove nothing without workloads: `%s`", async words => {
    routes.set("/api/v1/pods", { kind: "PodList", apiVersion: "v1", metadata: {}, items: [] })
    expect(await run(words)).toBe(4)
    expect(out).toContain("skipped: the cluster has no workload")
  })

  it("prove nothing if a stored policy cannot be read", async () => {
    const odd = { ...policy([]), spec: { rulez: [] } }
    routes.set(`${group}/authorizationpolicies`, {
      ...{ kind: "List", apiVersion: "v1", metadata: {} },
      items: [odd],
    })
    expect(await run("what-can foo/web")).toBe(4)
    expect(out).toContain("skipped: AuthorizationPolicy foo/deny: it cannot be read")
  })

  it.each(["mtls ready -n foo", "proxy status -n foo"])("tell replicas that did not answer: `%s`", async words => {
    const path = `${ANSWERS}/namespaces/foo/${words.startsWith("mtls") ? "readiness" : "proxies"}`
    routes.set(path, { ...routes.get(path), partial: ["merlond-2"] })
    expect(await run(words)).toBe(4)
    expect(out).toContain("skipped: what replica merlond-2 of the control plane knows")
  })

  it("report the existing mesh if flags name another", async () => {
    expect(await run("proxy status -A --mesh merlon --domain merlon.dev")).toBe(1)
    expect(err).toContain("which has `dubbo` (dubbo.apache.org); pass `--mesh dubbo --domain dubbo.apache.org`")
    routes = new Map(discovery([]))
    expect(await run("proxy status -A")).toBe(1)
    expect(err).toContain("no mesh is installed in this cluster")
  })

  it("report that there is nothing to wait for", async () => {
    const applied = { ...policy(["/x"]), metadata: { ...metadata, generation: 1 } }
    routes.set("/apis/security.dubbo.apache.org/v1alpha3/namespaces/foo/authorizationpolicies/deny", applied)
    routes.set("/apis/security.dubbo.apache.org/v1alpha3", {
      ...{ kind: "APIResourceList", apiVersion: "v1" },
      resources: [{ name: "authorizationpolicies", kind: "AuthorizationPolicy", namespaced: true }],
    })
    expect(await run(`apply --wait --timeout 1s -f ${file}`)).toBe(1)
    expect(err).toContain("not ready within 1 s")
    expect(await run(`apply --wait --timeout 1s -f ${file} --mesh merlon --domain merlon.dev`)).toBe(1)
    expect(err).toContain("is not waited for: it is no policy of the mesh `merlon` (merlon.dev)")
  })
})
