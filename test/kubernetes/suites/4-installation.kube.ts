// SPDX-License-Identifier: Apache-2.0
// The chart and merlonctl: both install the same objects, the server accepts them, and an uninstall removes them.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import {
  answering,
  apply,
  command,
  helm,
  install,
  installFrom,
  kubectl,
  merlonctl,
  namespace,
  ready,
  sample,
  tryKubectl,
  underLoad,
} from "../support/cluster.js"
import { startMesh, startWebAgain } from "../support/mesh.js"

type Values = { readonly [name: string]: unknown }

const VARIANTS: readonly (readonly [name: string, values: Values])[] = [
  ["the defaults", {}],
  [
    "one replica without extras",
    { replicas: 1, podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false }, resources: {} },
  ],
  [
    "three replicas, of which two must be available",
    { replicas: 3, podDisruptionBudget: { enabled: true, minAvailable: 2 } },
  ],
  ["capture by Service", { capture: "service", sidecar: "plain", logLevel: "debug" }],
  ["small proxies", { proxy: { resources: { limits: { cpu: "500m" } } } }],
  [
    "native sidecars",
    {
      capture: "redirect",
      sidecar: "native",
      udp: "refuse",
      outbound: "capture",
      outboundPolicy: "REGISTRY_ONLY",
      config: { certificateTtl: "12h" },
    },
  ],
  [
    "all monitoring",
    {
      dashboards: { enabled: true, labels: { dashboards: "here" } },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "15s" },
      alerts: { enabled: true, labels: { release: "prometheus" } },
    },
  ],
  [
    "external authorizers",
    { providers: [{ name: "opa", protocol: "grpc", address: "opa.default.svc:9191", timeoutMs: 100 }] },
  ],
  [
    "an authorizer",
    {
      authorizer: { enabled: true, gateway: "public", httpRoute: "shop", args: ["--gateway=10.0.0.0/8"], replicas: 1 },
    },
  ],
  ["other domains", { trustDomain: "example.org", clusterDomain: "cluster.example" }],
  ["another mesh", { mesh: "dubbo", domain: "dubbo.apache.org" }],
  [
    "another image",
    {
      image: "registry.example/merlon:1.2.3",
      imagePullPolicy: "Always",
      imagePullSecrets: [{ name: "registry" }],
      priorityClassName: "system-cluster-critical",
    },
  ],
  [
    "separate nodes",
    {
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "control", operator: "Exists", effect: "NoSchedule" }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "noisy" } } },
          ],
        },
      },
    },
  ],
]
/** The CRDs of the Prometheus operator, as far as the server needs them. */
const MONITORING = ["ServiceMonitor", "PodMonitor", "PrometheusRule"].map(kind => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${kind.toLowerCase()}s.monitoring.coreos.com` },
  spec: {
    group: "monitoring.coreos.com",
    names: { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
}))
/** Without a cluster, helm would assume a version. */
const TEMPLATE = ["template", "merlon", "deploy/helm/merlon", "--kube-version", "1.36.0", "-n"]

let folder = ""
beforeAll(async () => {
  await startMesh()
  folder = mkdtempSync(join(tmpdir(), "merlon-values-"))
  await apply(...MONITORING, namespace("dubbo-system"))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await kubectl("delete", ...MONITORING.map(({ metadata }) => `crd/${metadata.name}`), "namespace/dubbo-system")
})

const isHook = ({ metadata }: { readonly metadata: { readonly annotations?: object } }): boolean =>
  Object.keys(metadata.annotations ?? {}).includes("helm.sh/hook")

describe("the chart", () => {
  it("passes `helm lint`", async () => {
    expect(await helm("lint", "deploy/helm/merlon", "-n", "merlon-system")).toContain("0 chart(s) failed")
  })

  it("rejects another namespace and unknown values", async () => {
    const elsewhere = await command(inject("helm"), [...TEMPLATE, "default"])
    expect(elsewhere.err).toContain("install into the namespace `merlon-system`")
    const unknown = await command(inject("helm"), [
      "template",
      "m",
      "deploy/helm/merlon",
      "-n",
      "merlon-system",
      "--set",
      "replica=2",
    ])
    expect(unknown.err).toContain("replica")
  })

  it("is tested with each of its values", () => {
    const given = VARIANTS.flatMap(([, values]) => Object.keys(values))
    const known = Object.keys(parse(readFileSync("deploy/helm/merlon/values.yaml", "utf8")))
    expect([...new Set(given)].sort()).toEqual(known.sort())
  })

  it.each(VARIANTS)("creates the same objects as merlonctl, which the server accepts: %s", async (_, values) => {
    const file = join(folder, "values.json")
    writeFileSync(file, JSON.stringify(values))
    const place = typeof values.mesh === "string" ? `${values.mesh}-system` : "merlon-system"
    const chart = await helm(...TEMPLATE, place, "-f", file)
    const manifest = await merlonctl("manifest", "--no-crds", "-f", file)
    const objects = (text: string) =>
      new Map(
        parseAllDocuments(text)
          .map(document => document.toJS())
          .filter(object => object !== null && object.kind !== "Namespace" && !isHook(object))
          .map(object => [`${object.kind}/${object.metadata.name}`, object] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      )
    expect(objects(chart)).toEqual(objects(manifest))
    for (const text of [manifest, chart]) {
      const { code, err } = await tryKubectl(["apply", "--dry-run=server", "-f", "-"], text)
      expect({ code, err: err.replaceAll(/Warning: .*\n/g, "") }).toEqual({ code: 0, err: "" })
    }
  })
})

describe("an upgrade by helm", () => {
  it("and a rollback fail no request", async () => {
    await underLoad(() => install("--set", "replicas=3", "--set", "config.certificateTtl=12h"))
    expect(
      await kubectl("get", "deploy", "merlond", "-n", "merlon-system", "-o", "jsonpath={.status.readyReplicas}"),
    ).toBe("3")
    await underLoad(() => helm("rollback", "merlon", "-n", "merlon-system", "--wait", "--timeout", "300s"))
    expect(await kubectl("get", "deploy", "merlond", "-n", "merlon-system", "-o", "jsonpath={.spec.replicas}")).toBe(
      "2",
    )
  })
})

/** The status of a call by a program in a Pod of `app`; 0 without a response. */
async function called(pod: string, url: string): Promise<number> {
  const script = `fetch("${url}", { signal: AbortSignal.timeout(15000) })
    .then(answer => console.log(answer.status), () => console.log(0))`
  return Number(await kubectl("exec", "-n", "app", pod, "--", "node", "-e", script))
}

describe.skipIf(inject("imageBefore") === "")("an upgrade from the previous version", () => {
  it("fails no request of workloads with proxies of that version, and neither does a rollback to it", async () => {
    await helm("uninstall", "merlon", "-n", "merlon-system", "--wait")
    await installFrom(inject("chartBefore"), inject("imageBefore"))
    // The state with that version: its xclient in the consumer, and Pods that it injected.
    await kubectl("set", "image", "deploy/consumer", `consumer=${inject("imageBefore")}`, "-n", "app")
    await startWebAgain()
    await ready("deploy", "consumer", "app")
    // The caller must not be a Pod that is terminating.
    const consumers = ["get", "pods", "-n", "app", "-l", "app=consumer", "-o", "name"]
    await expect.poll(async () => (await kubectl(...consumers)).split("\n").length, { timeout: 150_000 }).toBe(1)
    const proxies = "jsonpath={.items[*].spec.initContainers[?(@.name=='merlon-xserver')].image}"
    expect(await kubectl("get", "pods", "-n", "app", "-l", "app=web", "-o", proxies)).toContain(inject("imageBefore"))
    await underLoad(() => install())
    await callsAfterUpgrade()
    await underLoad(startWebAgain)
    await underLoad(() => helm("rollback", "merlon", "-n", "merlon-system", "--wait", "--timeout", "300s"))
    await underLoad(() => install())
    await kubectl("set", "image", "deploy/consumer", `consumer=${inject("image")}`, "-n", "app")
    await ready("deploy", "consumer", "app")
  })
})

/**
 * Pods of the previous version call in plaintext as before, unless that version already captured their calls. A Pod
 * that starts now is captured and reaches their proxies under STRICT.
 */
async function callsAfterUpgrade(): Promise<void> {
  const strict = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "PeerAuthentication",
    metadata: { name: "strict", namespace: "app" },
    spec: { mtls: { mode: "STRICT" } },
  }
  await apply(strict, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "later", namespace: "app" },
    spec: { terminationGracePeriodSeconds: 1, containers: [answering()] },
  })
  await kubectl("wait", "pod/later", "-n", "app", "--for=condition=Ready", "--timeout=150s")
  await kubectl("wait", "pa/strict", "-n", "app", "--for=condition=Enforced", "--timeout=150s")
  const captures = "jsonpath={.items[*].spec.initContainers[*].args}"
  const wasCaptured = (await kubectl("get", "pods", "-n", "app", "-l", "app=web", "-o", captures)).includes(
    "--outbound",
  )
  expect(await called("deploy/web-v1", "http://httpbin.foo:8000/get")).toBe(200)
  expect(await called("deploy/web-v1", "http://web.app/")).toBe(wasCaptured ? 200 : 0)
  expect(await called("later", "http://web.app/")).toBe(200)
  await kubectl("delete", "pod/later", "pa/strict", "-n", "app")
}

describe("the authorizer of the chart", () => {
  it("enforces a policy for a Gateway in all its replicas, and answers the gateway's queries", async () => {
    const policy = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "public", namespace: "edge" },
      spec: {
        targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "public" }],
        rules: [{ to: [{ operation: { methods: ["GET"], paths: ["/public/*"] } }] }],
      },
    }
    await apply(namespace("edge"), policy)
    const ofEdge = ["authorizer.enabled=true", "authorizer.namespace=edge", "authorizer.gateway=public"]
    await install(...[...ofEdge, "authorizer.args={--gateway=0.0.0.0/0}"].flatMap(value => ["--set", value]))
    await kubectl("wait", "authorizationpolicy/public", "-n", "edge", "--for=condition=Ready", "--timeout=150s")
    const message = `jsonpath={.status.conditions[?(@.type=='Enforced')].message}`
    expect(await kubectl("get", "authorizationpolicy/public", "-n", "edge", "-o", message)).toContain(
      "enforced by 2 of 2 authorizers",
    )
    const asked = (path: string) => called("deploy/consumer", `http://merlon-authorizer.edge:9000/ext-authz${path}`)
    expect(await asked("/public/prices")).toBe(200)
    expect(await asked("/orders")).toBe(403)
    await install()
    await kubectl("delete", "namespace/edge", "--timeout=150s")
  })
})

async function startsWithout(name: string): Promise<void> {
  await apply(namespace("after", { "merlon-injection": "enabled" }), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "after" },
    spec: { terminationGracePeriodSeconds: 1, containers: [answering()] },
  })
  await kubectl("wait", `pod/${name}`, "-n", "after", "--for=condition=Ready", "--timeout=150s")
}

/** All objects labelled as ours, except our CRDs; policies do not have the label. */
const remains = async (): Promise<readonly string[]> => {
  const listable = await kubectl("api-resources", "--verbs=list", "-o", "name")
  const kinds = listable.split("\n").filter(kind => !kind.startsWith("events"))
  const found = await Promise.all(
    ["part-of", "managed-by"].map(label =>
      kubectl("get", kinds.join(), "-A", "-l", `app.kubernetes.io/${label}=merlon`, "-o", "name"),
    ),
  )
  const named = new Set(found.flatMap(text => text.split("\n")).filter(name => name !== ""))
  return [...named].filter(name => !name.startsWith("customresourcedefinition")).sort()
}

/** The objects that a control plane leaves in its own namespace, which Helm does not delete. */
const leftInRoot = async (): Promise<string> => {
  const own = await kubectl("get", "secrets,configmaps,leases,pods,services,jobs", "-n", "merlon-system", "-o", "name")
  return own
    .split("\n")
    .filter(name => !name.endsWith("/kube-root-ca.crt"))
    .join(" ")
}

describe("an uninstall", () => {
  it("by helm keeps no Pod from starting, and keeps policies", async () => {
    await apply(sample("policies/peer-permissive.yaml"))
    const space = "captured"
    await apply(namespace(space, { "merlon-injection": "enabled", "merlon-capture": "service" }), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "led", namespace: space },
      spec: { selector: { app: "led" }, ports: [{ port: 80, targetPort: 8080 }] },
    })
    const captured = ["get", "service", "led", "-n", space, "-o", "jsonpath={.spec.ports[0].targetPort}"]
    expect(await kubectl(...captured)).toBe("15080")
    // Objects of an earlier version are adopted too.
    const owner = "jsonpath={.items[*].metadata.ownerReferences[0].name}"
    for (const made of ["configmap/merlon-ca-root-cert", "networkpolicy/merlon-capture"]) {
      const [kind = "", name = ""] = made.split("/")
      const owners = async () => {
        const all = ["get", kind, "-A", `--field-selector=metadata.name=${name}`, "-o"]
        const count = (await kubectl(...all, "name")).split("\n").length
        return (await kubectl(...all, owner)).split(" ").filter(name => name !== "").length === count
      }
      await expect.poll(owners, { timeout: 150_000 }).toBe(true)
    }
    expect(await called("deploy/web-v1", "http://httpbin.foo:8000/get")).toBe(200)
    await helm("uninstall", "merlon", "-n", "merlon-system", "--wait")
    // The proxy continues with its last configuration.
    expect(await called("deploy/web-v1", "http://httpbin.foo:8000/get")).toBe(200)
    await startsWithout("one")
    // The root certificate stays, so that a new installation continues the same mesh. It is deleted with the namespace.
    await expect.poll(remains, { timeout: 150_000 }).toEqual(["secret/merlon-ca"])
    // So is the Lease in that namespace, which affects no other program.
    await expect.poll(leftInRoot, { timeout: 150_000 }).toMatch(/^secret\/merlon-ca( lease\S+)?$/)
    expect(await kubectl(...captured)).toBe("8080")
    expect(await kubectl("get", "pa", "-n", "merlon-system", "-o", "name")).toContain("default")
  })

  it("by merlonctl removes everything, after an upgrade that kept the values", async () => {
    const out = await merlonctl("install", "--set", `image=${inject("image")}`, "--set", "replicas=1")
    expect(out).toContain("serves in `merlon-system`")
    // Released Services are captured again when they are written again, as the page says.
    const page = readFileSync("docs/kubernetes.md", "utf8")
    expect(page).toContain("kubectl get services --namespace NAMESPACE --output yaml | kubectl replace --filename -")
    const captured = ["get", "service", "led", "-n", "captured", "-o"]
    expect(await kubectl(...captured, "jsonpath={.spec.ports[0].targetPort}")).toBe("8080")
    const stored = await kubectl("get", "services", "--namespace", "captured", "--output", "yaml")
    expect(await tryKubectl(["replace", "--filename", "-"], stored)).toMatchObject({ code: 0 })
    expect(await kubectl(...captured, "jsonpath={.spec.ports[0].targetPort}")).toBe("15080")
    await merlonctl("upgrade", "--set", "logLevel=debug")
    const spec = await kubectl(
      "get",
      "deploy",
      "merlond",
      "-n",
      "merlon-system",
      "-o",
      "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].args}",
    )
    expect(spec).toMatch(/^1 .*--log-level=debug/)
    await merlonctl("uninstall", "--crds")
    await expect.poll(remains, { timeout: 150_000 }).toEqual([])
    expect(await kubectl("get", "crd", "-o", "name")).not.toContain("merlon.dev")
    expect((await tryKubectl(["get", "namespace", "merlon-system"])).code).toBe(1)
    await startsWithout("two")
  })
})
