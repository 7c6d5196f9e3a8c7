// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parser } from "@prometheus-io/lezer-promql"
import { describe, expect, it } from "vitest"
import { alerts } from "./alerts.js"
import { installedObjects, installManifests } from "./control-plane-manifests.js"
import { dashboards } from "./dashboards.js"
import { metricNames } from "./metric-names.js"
import { defaultValues, readValues } from "./values.js"

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"))

describe("what is installed", () => {
  const kinds = (given: object) => installManifests(readValues(version, given)).map(({ kind }) => kind)

  it("ends with the webhooks, so that their removal comes first", () => {
    expect(kinds({}).slice(-2)).toEqual(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
  })

  it("follows the values", () => {
    expect(kinds({ networkPolicy: { enabled: false } })).not.toContain("NetworkPolicy")
    expect(kinds({ serviceMonitor: { enabled: true } })).toEqual(
      expect.arrayContaining(["ServiceMonitor", "PodMonitor"]),
    )
    for (const capture of ["redirect", "service"]) {
      expect(kinds({ capture }).filter(kind => kind === "MutatingWebhookConfiguration")).toHaveLength(1)
    }
  })

  it("runs as an unprivileged user with a read-only file system", () => {
    const text = JSON.stringify(
      installedObjects(defaultValues(version)).find(({ object }) => object.kind === "Deployment"),
    )
    for (const part of ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"drop":["ALL"]', '"RuntimeDefault"']) {
      expect(text).toContain(part)
    }
  })

  it("gives providers to the control plane, whose Pods restart when they change", () => {
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

  it("names metrics as a mesh of another word has them", () => {
    const given = { mesh: "acme-mesh", alerts: { enabled: true }, dashboards: { enabled: true } }
    const text = JSON.stringify(installManifests(readValues(version, given)))
    expect(text).toContain("acme_mesh_xserver_requests_total")
    expect(text).not.toContain("merlon_xserver_")
  })

  it("asks Prometheus in its own language", () => {
    const names = metricNames("merlon")
    const panels = Object.values(dashboards(names)).flatMap(({ panels }) => panels)
    const isFault = (expression: string): boolean => {
      const cursor = parser.parse(expression).cursor()
      do if (cursor.type.isError) return true
      while (cursor.next())
      return false
    }
    const unreadable = [...panels, ...alerts(names)].map(({ expression }) => expression).filter(isFault)
    expect(unreadable).toEqual([])
  })

  it("says of each alert what to do", () => {
    const page = readFileSync(`${ROOT}docs/operations/alerts.md`, "utf8")
    const told = [...page.matchAll(/^\| `(Merlon\w+)`/gm)].map(([, name]) => name)
    expect(told).toEqual(alerts(metricNames("merlon")).map(({ name }) => name))
  })

  it("draws and watches only metrics that the programs have", () => {
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
