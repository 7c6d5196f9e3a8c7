// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import { type Ran, run } from "../../mission/support/run.js"

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
`

const inject = (input: string, ...args: readonly string[]): Promise<Ran> =>
  run(process.execPath, ["packages/cli/bin/merlonctl.js", "inject", "-f", "-", ...args], {}, input)

describe("merlonctl inject", () => {
  it("prints Pod templates with an xserver, and everything else unchanged", async () => {
    const { code, out } = await inject(DEPLOYMENT)
    expect(code).toBe(0)
    const [deployment, service] = parseAllDocuments(out).map(document => document.toJS())
    const { initContainers, containers } = deployment.spec.template.spec
    expect(initContainers.map(({ name }: { name: string }) => name)).toEqual(["merlon-init", "merlon-xserver"])
    expect(containers.map(({ name }: { name: string }) => name)).toEqual(["web"])
    expect(service).toEqual({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { ports: [{ port: 80 }] },
    })
  })

  it("changes nothing the second time", async () => {
    const { out } = await inject(DEPLOYMENT, "--sidecar", "plain")
    expect((await inject(out, "--sidecar", "plain")).out).toBe(out)
  })

  it("reports why injection is not possible", async () => {
    const { code, err } = await inject(DEPLOYMENT.replace("8080", "15021"))
    expect(code).toBe(1)
    expect(err).toContain(
      "standard input: Deployment web: no xserver can be injected: the ports 15021 are reserved for xserver",
    )
  })
})
