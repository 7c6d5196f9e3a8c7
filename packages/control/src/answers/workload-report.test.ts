// SPDX-License-Identifier: Apache-2.0
import { DocumentsByNamespace } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { document, MESH } from "../proofs/testing/documents.js"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { viewsStage } from "../snapshot/testing/views-stage.js"
import { workloadReports, workloadReportsCalled } from "./workload-report.js"

const ROOT = MESH.names.rootNamespace
const web = { selector: { matchLabels: { app: "web" } } }
const aged = (document: PolicyDocument, second: number): PolicyDocument => {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
  return { ...document, metadata: { ...document.metadata, creationTimestamp } }
}
const readers = document("AuthorizationPolicy", "readers", { rules: [{}, {}] })

interface Setting {
  readonly documents?: readonly PolicyDocument[]
  readonly canary?: boolean
}

function sourcesOf({ documents = [], canary = false }: Setting = {}) {
  const { registry } = viewsStage()
  const ports = [{ containerPort: 8080 }, { containerPort: 9090 }]
  const owned = {
    ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u", controller: true }],
  }
  for (const name of ["web-0", "web-1"]) {
    const labels = { app: "web", ...(canary && name === "web-1" ? { track: "canary" } : {}) }
    registry.setPod(podOf(`foo/${name}`, { labels, ports, serviceAccount: "front", metadata: owned }))
  }
  registry.setPod(podOf("foo/lone", { labels: { app: "lone" }, proxied: false }))
  registry.setPod(podOf("bar/web-0", { ports }))
  registry.setService(serviceOf("foo/all", { app: "web" }, [{ port: 80, targetPort: 8080 }]))
  registry.setService(serviceOf("foo/front", {}, []))
  return {
    workloads: [...registry.workloads.values()],
    documents: new DocumentsByNamespace(documents, MESH),
    proxies: new Map([
      [
        "foo/web-0",
        {
          ...{ key: "foo/web-0", connectedAt: "2026-01-01T00:00:00.000Z", revision: 7, resources: 3, behind: 0 },
          ...{ lagMs: 0, rejection: undefined, version: "1", certificateNotAfter: "2026-01-02T00:00:00.000Z" },
        },
      ],
    ]),
    mesh: MESH,
  }
}

const called = (name: string, setting?: Setting) => workloadReportsCalled(name, sourcesOf(setting), "foo")
const first = (setting?: Setting) => called("web", setting)[0]

it("reports a workload under its owner, with its Pods and proxies", () => {
  expect(first()).toMatchObject({
    ...{ namespace: "foo", name: "web", workload: "foo/web", labels: { app: "web" }, services: ["all"] },
    identity: "spiffe://cluster.local/ns/foo/sa/front",
    pods: [
      { name: "web-0", ready: true, proxied: true, proxy: { revision: 7, certificateNotAfter: expect.any(String) } },
      { name: "web-1", ready: true, proxied: true },
    ],
    otherwise: [],
  })
  expect(first()?.pods[1]).not.toHaveProperty("proxy")
  expect(first()?.pods[0]?.proxy).not.toHaveProperty("key")
})

it.each([
  ["web", [["web", 2]]],
  ["web-1", [["web-1", 1]]],
  ["all", [["web", 2]]],
  ["lone", [["lone", 1]]],
  ["nobody", []],
])("finds `%s` as %j", (name, expected) => {
  expect(called(name).map(report => [report.name, report.pods.length])).toEqual(expected)
})

it("uses the name of the recorded calls for a single Pod too", () => {
  expect(called("web-1")[0]?.workload).toBe("foo/web")
})

it("lists every workload of a namespace, or of all", () => {
  const names = (namespace: string | undefined) =>
    workloadReports(sourcesOf(), namespace).map(report => `${report.namespace}/${report.name}`)
  expect(names("foo")).toEqual(["foo/lone", "foo/web"])
  expect(names(undefined)).toEqual(["bar/web-0", "foo/lone", "foo/web"])
})

it("reports each port's mode, the policy that sets it, and the overridden ones", () => {
  const strict = aged(document("PeerAuthentication", "old", { mtls: { mode: "STRICT" } }), 1)
  const young = aged(document("PeerAuthentication", "young", { mtls: { mode: "DISABLE" } }), 2)
  const own = aged(
    document("PeerAuthentication", "own", { ...web, portLevelMtls: { 9090: { mode: "PERMISSIVE" } } }),
    3,
  )
  const losers = [{ policy: "foo/young", why: expect.stringContaining("(`foo/old`)") }]
  expect(first({ documents: [strict, young, own] })?.ports).toEqual([
    {
      ...{ port: 8080, protocol: expect.any(String), mode: "STRICT", policy: "foo/old", scope: "namespace", losers },
      why: "`foo/old` sets it for its namespace",
    },
    {
      ...{ port: 9090, protocol: expect.any(String), mode: "PERMISSIVE", policy: "foo/own", scope: "workload", losers },
      why: "`foo/own` sets it for this port",
    },
  ])
})

it("reports a port without a policy, and its mode with shadow policies", () => {
  const shadow = document("PeerAuthentication", "later", { mtls: { mode: "STRICT" }, enforcement: "Shadow" })
  expect(first()?.ports[0]).toMatchObject({ mode: "PERMISSIVE", why: "the default: no PeerAuthentication sets it" })
  expect(first({ documents: [shadow] })?.ports[0]).toMatchObject({ mode: "PERMISSIVE", shadow: "STRICT" })
})

it("lists its policies in the order of evaluation", () => {
  const documents = [
    aged(readers, 9),
    aged(document("AuthorizationPolicy", "oldest", { rules: [{}] }), 1),
    document("AuthorizationPolicy", "log", { action: "AUDIT", rules: [{}] }),
    document("AuthorizationPolicy", "closed", { action: "DENY", rules: [{}], enforcement: "Shadow" }, ROOT),
    document("RequestAuthentication", "jwt", { jwtRules: [{ issuer: "https://i.example" }] }),
    document("PeerAuthentication", "mesh", { mtls: { mode: "STRICT" } }, ROOT),
    document("AuthorizationPolicy", "elsewhere", { rules: [{}] }, "bar"),
    document("AuthorizationPolicy", "others", { selector: { matchLabels: { app: "api" } }, rules: [{}] }),
    document("AuthorizationPolicy", "named", { targetRefs: [{ kind: "Service", name: "all" }], rules: [{}] }),
    document("PolicyInvariant", "must", { never: [{ name: "x", to: [{ operation: { paths: ["/x"] } }] }] }),
  ]
  expect(first({ documents })?.policies.map(one => [one.stage, one.policy, one.enforcement, one.rules])).toEqual([
    ["transport", `${ROOT}/mesh`, "Enforce", 0],
    ["token", "foo/jwt", "Enforce", 1],
    ["audit", "foo/log", "Enforce", 1],
    ["deny", `${ROOT}/closed`, "Shadow", 1],
    ["allow", "foo/oldest", "Enforce", 1],
    ["allow", "foo/readers", "Enforce", 2],
    ["allow", "foo/named", "Enforce", 1],
  ])
})

it("names the Pods with other policies", () => {
  const canary = document("AuthorizationPolicy", "canary", {
    selector: { matchLabels: { track: "canary" } },
    rules: [{}],
  })
  expect(first({ documents: [canary], canary: true })?.otherwise).toEqual(["web-1"])
  expect(called("web-1", { documents: [canary], canary: true })[0]).toMatchObject({
    otherwise: [],
    policies: [{ policy: "foo/canary" }],
  })
})
