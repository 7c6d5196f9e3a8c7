// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { meshNames } from "@merlon/policy/mesh"
import { readBootstrap } from "@merlon/xds/member"
import { parser } from "@prometheus-io/lezer-promql"
import { describe, expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { readPod } from "../registry/pod-reading.js"
import { alerts } from "./alerts.js"
import { installedObjects, installManifests } from "./control-plane-manifests.js"
import { dashboards } from "./dashboards.js"
import { metricNames } from "./metric-names.js"
import { defaultValues, readValues } from "./values.js"

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"))

describe("the installed objects", () => {
  const kinds = (given: object) => installManifests(readValues(version, given)).map(({ kind }) => kind)

  it("end with the webhooks, so that they are removed first", () => {
    expect(kinds({}).slice(-2)).toEqual(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
  })

  it("follow the values", () => {
    expect(kinds({ networkPolicy: { enabled: false } })).not.toContain("NetworkPolicy")
    expect(kinds({ serviceMonitor: { enabled: true } })).toEqual(
      expect.arrayContaining(["ServiceMonitor", "PodMonitor"]),
    )
    for (const capture of ["redirect", "service"]) {
      expect(kinds({ capture }).filter(kind => kind === "MutatingWebhookConfiguration")).toHaveLength(1)
    }
  })

  it("run as an unprivileged user with a read-only file system", () => {
    const text = JSON.stringify(
      installedObjects(defaultValues(version)).find(({ object }) => object.kind === "Deployment"),
    )
    for (const part of ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"drop":["ALL"]', '"RuntimeDefault"']) {
      expect(text).toContain(part)
    }
  })

  it("pass providers to the control plane, whose Pods restart when they change", () => {
    const providers = [{ name: "opa", protocol: "grpc", address: "opa.policy.svc:9191" }]
    const objects = installManifests(readValues(version, { providers }))
    const file = {
      path: "providers.json",
      fieldRef: { fieldPath: "metadata.annotations['merlon.dev/providers']" },
    }
    const template = {
      metadata: {
        annotations: { "merlon.dev/providers": '[{"address":"opa.policy.svc:9191","name":"opa","protocol":"grpc"}]' },
      },
      spec: {
        containers: [{ args: expect.arrayContaining(["--providers=/etc/merlon/providers.json"]) }],
        volumes: [{ downwardAPI: { items: expect.arrayContaining([file]) } }],
      },
    }
    expect(objects.find(({ kind }) => kind === "Deployment")).toMatchObject({ spec: { template } })
  })

  describe("for the authorizer", () => {
    const authorizer = { enabled: true, namespace: "edge", gateway: "public", args: ["--gateway=10.0.0.0/8"] }
    const objects = installManifests(readValues(version, { authorizer }))
    const named = (kind: string) => objects.find(object => object.kind === kind && object.metadata.namespace === "edge")
    const deployment = named("Deployment")
    if (deployment === undefined) throw new Error("there is no Deployment")
    const { template } = deployment.spec as { template: { metadata: object; spec: object } } // the spec of a Deployment
    const pod = (more: object = {}): KubernetesObject => ({
      apiVersion: "v1",
      kind: "Pod",
      ...template,
      metadata: { ...template.metadata, name: "a", namespace: "edge" },
      spec: { ...template.spec, ...more },
      status: { phase: "Running" },
    })
    const facts = (of: KubernetesObject) => readPod(of, meshNames(), message => expect.unreachable(message))

    it("are absent by default", () => {
      expect(kinds({}).filter(kind => kind === "Deployment")).toHaveLength(1)
      expect(kinds({ authorizer }).filter(kind => kind === "Deployment")).toHaveLength(2)
    })

    it("run a Pod that the control plane counts as an authorizer, at its Service's port", () => {
      expect(facts(pod())).toMatchObject({
        proxied: true,
        enforcer: "authorizer",
        bypass: undefined,
        labels: { "merlon.dev/gateway": "public" },
        serviceAccount: "merlon-authorizer",
        ports: [{ port: 9000, listen: 9000 }],
      })
      expect(named("Service")).toMatchObject({ spec: { ports: [{ port: 9000, targetPort: 9000 }] } })
    })

    it("do not count as an authorizer with a further container", () => {
      const { containers } = template.spec as { containers: readonly object[] } // the spec of a Pod template
      const other = { name: "app", ports: [{ containerPort: 8080 }] }
      const found = facts(pod({ containers: [...containers, other] }))
      expect(found).toMatchObject({ enforcer: undefined, bypass: expect.any(String) })
    })

    it("join the mesh with the Pod's own credentials", () => {
      const { annotations } = template.metadata as { annotations: Record<string, string> } // for Pod templates
      const folder = mkdtempSync(join(tmpdir(), "merlon-install-"))
      const file = join(folder, "bootstrap.json")
      writeFileSync(file, annotations["merlon.dev/bootstrap"] ?? "")
      const env = {
        POD_NAME: "a",
        POD_NAMESPACE: "edge",
        SERVICE_ACCOUNT: "s",
        POD_IP: "10.0.0.1",
        POD_IPS: "10.0.0.1",
      }
      expect(readBootstrap(file, env)).toMatchObject({
        workload: { namespace: "edge", name: "a", serviceAccount: "s" },
        controlPlane: { address: "merlond.merlon-system.svc:15012", serverName: "merlond.merlon-system.svc" },
      })
      rmSync(folder, { recursive: true })
    })
  })

  it("use the metric names of the mesh", () => {
    const given = { mesh: "acme-mesh", alerts: { enabled: true }, dashboards: { enabled: true } }
    const text = JSON.stringify(installManifests(readValues(version, given)))
    expect(text).toContain("acme_mesh_xserver_requests_total")
    expect(text).not.toContain("merlon_xserver_")
  })

  it("contain valid PromQL", () => {
    const names = metricNames("merlon")
    const panels = Object.values(dashboards(names)).flatMap(({ panels }) => panels)
    const isError = (expression: string): boolean => {
      const cursor = parser.parse(expression).cursor()
      do if (cursor.type.isError) return true
      while (cursor.next())
      return false
    }
    const unreadable = [...panels, ...alerts(names)].map(({ expression }) => expression).filter(isError)
    expect(unreadable).toEqual([])
  })

  it("include only documented alerts", () => {
    const page = readFileSync(`${ROOT}docs/operations/alerts.md`, "utf8")
    const received = [...page.matchAll(/^\| `(Merlon\w+)`/gm)].map(([, name]) => name)
    expect(received).toEqual(alerts(metricNames("merlon")).map(({ name }) => name))
  })

  it("use only metrics that the programs have", () => {
    const sources = ["control", "xserver"]
      .map(name => readFileSync(`${ROOT}packages/${name}/src/observe/metrics.ts`, "utf8"))
      .join("\n")
    const names = metricNames("merlon")
    const drawn = JSON.stringify([dashboards(names), alerts(names)]).match(/merlon_(?:control|xserver)_[a-z_]+/g) ?? []
    const missing = drawn
      .map(name => name.replace(/^merlon_(control|xserver)_/, "").replace(/_bucket$/, ""))
      .filter(name => !sources.includes(`${name}"`) && !sources.includes(`}${name}\``))
    expect(missing).toEqual([])
  })
})
