// SPDX-License-Identifier: Apache-2.0
// A whole control plane on a cluster, from the first start to an enforced policy, with only the documented permissions.
// The same must work on a real kube-apiserver, which validates objects and calls webhooks in its own way.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubernetesObject,
  LEASES,
  MUTATING_WEBHOOKS,
  NAMESPACES,
  policyTypes,
  TOKEN_REVIEWS,
  VALIDATING_WEBHOOKS,
} from "../../../packages/control/src/kubernetes/resource-type.js"
import { type Application, startApplication } from "../support/application.js"
import { names, WAIT } from "./support/cluster-api.js"
import { deny, Mesh, policy } from "./support/mesh.js"
import { Program } from "./support/program.js"
import { GIVEN_CLUSTER } from "./support/test-cluster.js"

const BUNDLE = "merlon-ca-root-cert"
const ADDRESS = "127.77.7.7"

describe("a control plane on a cluster (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let mesh: Mesh
  let application: Application
  let xserver: Program | undefined

  beforeAll(async () => {
    mesh = await Mesh.start({ args: ["--capture", "service", "--sidecar", "native"] })
    application = await startApplication()
    for (const [name, labels] of [
      ["foo", {}],
      ["injected", { [names.injectionLabel]: "enabled" }],
      ["strict", { [names.injectionLabel]: "enabled", "pod-security.kubernetes.io/enforce": "restricted" }],
    ] as const) {
      await mesh.api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } })
    }
  })
  afterAll(async () => {
    await xserver?.kill()
    await application?.close()
    await mesh?.close()
  })

  const merlonctl = (args: readonly string[], input = ""): Promise<{ code: number; out: string; err: string }> =>
    new Promise(done => {
      const env = { ...process.env, KUBECONFIG: GIVEN_CLUSTER ?? mesh.control.kubeconfig, HOME: mesh.folder }
      const child = execFile(process.execPath, ["packages/cli/bin/merlonctl.js", ...args], { env }, (error, out, err) =>
        done({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
      )
      child.stdin?.end(input)
    })
  const answer = (path: string): Promise<number> =>
    new Promise(resolve => {
      const asked = request({ host: ADDRESS, port: 15_080, path, agent: false }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      asked.on("error", () => resolve(0))
      asked.end()
    })

  it("installs its kinds", async () => {
    const waited = await mesh.api.kubectl("wait crd --all --for=condition=Established --timeout=120s")
    expect(waited).toMatchObject({ code: 0 })
    expect(waited.out.split("\n").filter(line => line.includes(".merlon.dev"))).toHaveLength(5)
    expect((await mesh.api.kubectl("explain ap.spec.action")).out).toMatch(/FIELD: action/)
    // Checked by a rule in the schema, which the server itself evaluates.
    const wide = policy("PeerAuthentication", "wide", { portLevelMtls: { "8080": { mode: "STRICT" } } })
    const ran = await mesh.api.kubectl("create -f -", JSON.stringify(wide))
    expect(ran.code).toBe(1)
    expect(ran.err).toContain("selector")
  })

  it("publishes its trust in every namespace", async () => {
    const { items } = await mesh.api.client.list(NAMESPACES)
    expect(items.map(({ metadata }) => metadata.name)).toContain("kube-system")
    for (const { metadata } of items) {
      await vi.waitFor(async () => {
        expect(await mesh.api.get("ConfigMap", BUNDLE, metadata.name)).toMatchObject({
          data: { "root-cert.pem": expect.stringContaining("BEGIN CERTIFICATE") },
        })
      }, WAIT)
    }
  })

  it("reviews a policy before it is stored", async () => {
    const misspelt = JSON.stringify(policy("AuthorizationPolicy", "misspelt", { ruls: [] }))
    const rejected = await mesh.api.kubectl("create --validate=false -f -", misspelt)
    expect(rejected.code).toBe(1)
    expect(rejected.err).toContain("spec.ruls: unknown field `ruls`; did you mean `rules`?")
    const odd = await merlonctl(["apply", "-f", "-"], JSON.stringify(deny("odd", "/x", "nobody")))
    expect(odd).toMatchObject({ code: 0, out: expect.stringContaining("odd created") })
    expect(odd.err).toMatch(/^Warning: .*nobody/m)
  })

  it("injects a native sidecar into Pods, and the server accepts the result", async () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "injected", labels: { app: "web" } },
      spec: {
        securityContext: { runAsNonRoot: true, fsGroup: 2000 },
        volumes: [{ name: "own", emptyDir: {} }],
        initContainers: [{ name: "prepare", image: "app:1" }],
        containers: [
          {
            name: "app",
            image: "app:1",
            ports: [{ name: "http", containerPort: 8080 }],
            readinessProbe: { httpGet: { path: "/ready", port: "http" } },
            livenessProbe: { tcpSocket: { port: 8080 } },
            volumeMounts: [{ name: "own", mountPath: "/own" }],
          },
        ],
      },
    }
    expect(await mesh.api.kubectl("create -f -", JSON.stringify(pod))).toMatchObject({ code: 0 })
    const stored = await mesh.api.get("Pod", "web", "injected")
    expect(stored).toMatchObject({
      spec: {
        initContainers: [
          { name: "merlon-xserver", restartPolicy: "Always", securityContext: { runAsNonRoot: true } },
          { name: "prepare" },
        ],
      },
    })
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "injected" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] },
    }
    expect(await mesh.api.kubectl("apply -f -", JSON.stringify(service))).toMatchObject({ code: 0 })
    expect(await mesh.api.get("Service", "web", "injected")).toMatchObject({
      metadata: { annotations: { "merlon.dev/original-target-ports": '{"80":"http"}' } },
      spec: { ports: [{ port: 80, targetPort: 15_080 }] },
    })
  })

  it("requests no privilege if a namespace allows none", async () => {
    const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } }
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "strict" },
      spec: {
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }], securityContext: confined }],
      },
    }
    // No warning about Pod security, and one about outgoing calls, which only rules in the Pod can capture.
    const err: unknown = expect.stringMatching(/^Warning: [^\n]*captured by Service[^\n]*\n$/)
    expect(await mesh.api.kubectl("create -f -", JSON.stringify(pod))).toMatchObject({ code: 0, err })
    expect(await mesh.api.get("Pod", "web", "strict")).toMatchObject({
      spec: { initContainers: [{ name: "merlon-xserver" }] },
    })
    await mesh.api.kubectl("wait -n strict configmap/merlon-ca-root-cert --for=create --timeout=120s")
    const files = join(mesh.folder, "strict")
    const added = await merlonctl(["workload", "add", "declared", "-n", "strict", "--port", "80", "--out", files])
    expect(added, added.err).toMatchObject({ code: 0 })
  })

  it("admits a declared workload into the mesh and shows it running", async () => {
    const files = join(mesh.folder, "files")
    const added = await merlonctl([
      ...["workload", "add", "bin", "-n", "foo", "--labels", "app=bin", "--port", `${application.port}/http`],
      ...["--service-account", "bin", "--control-plane", `127.0.0.1:${mesh.control.meshPort}`, "--out", files],
      ...["--address", ADDRESS, "--listen", ADDRESS],
    ])
    expect(added, added.err).toMatchObject({ code: 0, out: "workload/bin created\n" })
    xserver = new Program([
      ...["xserver", "--bootstrap", join(files, "bootstrap.yaml"), "--access-log", "off"],
      ...["--admin", `${ADDRESS}:15000`, "--health", `${ADDRESS}:15021`],
    ])
    await vi.waitFor(async () => expect(await answer("/"), xserver?.stderr).toBe(200), WAIT)
    const ready = await mesh.api.kubectl("wait -n foo pod/bin --for=condition=Ready --timeout=120s")
    expect(ready, mesh.control.program.stderr).toMatchObject({ code: 0 })
    expect((await mesh.api.kubectl("get pods -n foo -o wide")).out).toMatch(/^bin +1\/1 +Running .* 127\.77\.7\.7 /m)
    expect((await merlonctl(["workload", "list", "-n", "foo"])).out).toMatch(/^bin +yes +127\.77\.7\.7 /m)
  })

  it("sees the workload and the Pod of a token", async () => {
    const token = readFileSync(join(mesh.folder, "files", "token"), "utf8")
    const review = (audience: string) =>
      mesh.api.client.create<KubernetesObject>(TOKEN_REVIEWS, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        metadata: { name: "" },
        spec: { token, audiences: [audience] },
      })
    expect((await review(names.tokenAudience)).status).toMatchObject({
      authenticated: true,
      audiences: [names.tokenAudience],
      user: { extra: { "authentication.kubernetes.io/pod-name": ["bin"] } },
    })
    expect((await review("another")).status).not.toMatchObject({ authenticated: true })
  })

  it("has a policy enforced, and kubectl can wait for it", async () => {
    const applied = await merlonctl(["apply", "-f", "-"], JSON.stringify(deny("secret", "/secret", "bin")))
    expect(applied, applied.err).toMatchObject({ code: 0 })
    expect(await mesh.api.kubectl("wait -n foo ap/secret --for=condition=Enforced --timeout=120s")).toMatchObject({
      code: 0,
    })
    expect([await answer("/secret"), await answer("/public")]).toEqual([403, 200])
    const [ours, theirs] = [await merlonctl(["get", "ap", "-n", "foo"]), await mesh.api.kubectl("get ap -n foo")]
    expect(ours.out).toMatch(/^secret +DENY /m)
    // Without ages: the second command runs later and may print a wider age.
    const ageless = (table: string): string => table.replace(/\b(\d+[dhms])+/g, "").replace(/ +/g, " ")
    expect(ageless(ours.out)).toBe(ageless(theirs.out))
  })

  it("reports the state of a policy on the resource", async () => {
    const peer = (name: string) => policy("PeerAuthentication", name, { mtls: { mode: "PERMISSIVE" } })
    await mesh.api.put(peer("older"))
    await mesh.api.becomes("PeerAuthentication", "older", "foo", "Accepted", "True")
    await mesh.api.put(peer("younger"))
    await mesh.api.becomes("PeerAuthentication", "younger", "foo", "Superseded", "True")
    await vi.waitFor(async () => {
      expect((await mesh.api.kubectl("describe -n foo pa younger")).out).toMatch(
        /Warning\s+Superseded\s.*merlon-control\s+.*older/,
      )
    }, WAIT)
  })

  it("the server rejects what the control plane expects it to reject", async () => {
    const patch = [{ op: "test", path: "/metadata/uid", value: "another" }]
    const at = { namespace: "foo", subresource: "status", type: "json" } as const
    const type = policyTypes(names).AuthorizationPolicy
    await expect(mesh.api.client.patch(type, "secret", patch, at)).rejects.toMatchObject({ code: 422 })
    await expect(mesh.api.client.patch(type, "nothing", patch, at)).rejects.toMatchObject({ code: 404 })
  })

  it("writes nothing when it is restarted", async () => {
    const versions = async (): Promise<readonly string[]> => {
      const kinds = [CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS, CONFIG_MAPS]
      const lists = await Promise.all(kinds.map(kind => mesh.api.client.list(kind)))
      // Calls and changes are written with a delay, so these may just have been written.
      const ours = lists
        .flatMap(({ items }) => items)
        .filter(({ metadata: { name } }) => name.includes("merlon") && !/^merlon-(?:calls|history)-/.test(name))
      return ours.map(({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`)
    }
    /** Logged warnings and errors. On a busy machine some requests time out, and are retried. */
    const complaints = (): readonly string[] =>
      mesh.control.program.stderr
        .split("\n")
        .filter(line => /"level":(40|50).*(cannot|could not|failed|forbidden)/.test(line))
        .filter(line => !line.includes("no answer from the API server"))
    const holder = async () => {
      const lease = await mesh.api.client.get(LEASES, "merlond", names.rootNamespace)
      return (lease?.spec as { readonly holderIdentity?: string } | undefined)?.holderIdentity ?? ""
    }
    const [before, led] = [await versions(), await holder()]
    expect(before.length).toBeGreaterThan(10)
    expect(complaints()).toEqual([])
    mesh.control.program.signal("SIGTERM")
    expect(await mesh.control.program.exit()).toBe(0)
    await mesh.control.run()
    await expect.poll(holder, WAIT).not.toMatch(new RegExp(`^$|^${led}$`))
    await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), WAIT).toBe(1)
    // Everything that had to be written again comes before this.
    await mesh.api.put(deny("later", "/later", "bin"))
    await mesh.api.becomes("AuthorizationPolicy", "later", "foo", "Enforced", "True")
    expect(await versions()).toEqual(before)
    expect(complaints()).toEqual([])
  })
})
