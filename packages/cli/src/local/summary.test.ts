// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { newRecord } from "./record/mesh-record.js"
import { summaryText } from "./summary.js"

const record = newRecord({
  phase: "ready",
  mesh: "merlon",
  domain: "merlon.dev",
  supervisor: { pid: 1, started: "x" },
  ports: { api: 7_444, mesh: 15_012, webhook: 15_017, health: 15_014 },
  workloads: [
    {
      namespace: "foo",
      name: "httpbin-1",
      serviceAccount: "httpbin",
      serves: true,
      place: { address: "127.2.0.1", xserver: 15_080, admin: 15_000, health: 15_021, application: 8_080 },
    },
  ],
  ingressPorts: [{ service: "httpbin.foo", port: 8_001 }],
  processes: [],
})
const place = { data: "/home/a/.merlon", cwd: "/home/a", merlonctl: "npx merlonctl", samples: "/home/a/samples" }

describe("the summary", () => {
  it("shows addresses and next steps with the ports of this mesh", () => {
    const text = summaryText(record, place)
    expect(text).toMatch(/^foo +httpbin-1 +127\.2\.0\.1:15080 +127\.2\.0\.1:8080 +ns\/foo\/sa\/httpbin$/m)
    expect(text).toMatch(/^export KUBECONFIG=\/home\/a\/\.merlon\/kubeconfig$/m)
    expect(text).toMatch(/^ {2}curl http:\/\/127\.0\.0\.1:8001\/headers$/m)
    expect(text).toMatch(/^ {2}npx merlonctl exec consumer -n app -- xclient --print-route$/m)
    expect(text).toMatch(/^ {2}npx merlonctl apply -f samples\/policies\/peer-strict\.yaml /m)
    expect(text).not.toContain("MERLON_")
  })

  it("shows how to select a mesh with another data folder or name", () => {
    const text = summaryText({ ...record, mesh: "dubbo", domain: "dubbo.apache.org" }, { ...place, data: "/a mesh" })
    expect(text).toMatch(/^export KUBECONFIG='\/a mesh\/kubeconfig'$/m)
    expect(text).toMatch(/^export MERLON_MESH=dubbo$/m)
    expect(text).toMatch(/^export MERLON_DOMAIN=dubbo\.apache\.org$/m)
    expect(text).toMatch(/^export MERLON_DATA='\/a mesh'$/m)
    expect(text).not.toContain("policies/")
  })

  it("proposes no samples if there are none", () => {
    const text = summaryText({ ...record, workloads: [], ingressPorts: [] }, place)
    expect(text).not.toMatch(/curl|exec consumer|NAMESPACE/)
  })
})
