// SPDX-License-Identifier: Apache-2.0
// kubectl accepts the manifests of the samples unchanged, and their parts fit together.

import { readdirSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Programs, startPrograms } from "../cli/support/programs.js"

const FOLDER = "samples/manifests"

/** Without the embedded cluster's warning on every Deployment: it has no controller that would create Pods. */
const remarks = (err: string): readonly string[] =>
  err.split("\n").filter(line => line !== "" && !/Deployment .* is stored, but nothing in this cluster acts/.test(line))

describe("the manifests of the samples (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let programs: Programs
  beforeAll(async () => {
    programs = await startPrograms()
    for (const name of ["foo", "app"]) await programs.kubectl(["create", "namespace", name])
  })
  afterAll(() => programs?.close())

  it.each(readdirSync(FOLDER))("%s is valid for the server, without a warning that matters elsewhere", async name => {
    const ran = await programs.kubectl(["apply", "--dry-run=server", "--validate=strict", "-f", `${FOLDER}/${name}`])
    // The namespaces were created by hand, which kubectl warns about.
    const warnings = remarks(ran.err).filter(line => !/namespaces\/(foo|app) is missing/.test(line))
    expect({ code: ran.code, warnings }).toEqual({ code: 0, warnings: [] })
  })

  it("are applied by merlonctl, and kubectl finds nothing to add", async () => {
    const { code, err } = await programs.merlonctl(["apply", "-f", FOLDER])
    expect({ code, remarks: remarks(err) }).toEqual({ code: 0, remarks: [] })
    const again = await programs.kubectl(["apply", "-f", FOLDER])
    expect(
      again.out
        .trim()
        .split("\n")
        .filter(line => !line.endsWith(" unchanged")),
    ).toEqual([])
  })

  it("send every Service to a port and labels that a Deployment has", async () => {
    const { out } = await programs.kubectl(["get", "svc,deploy", "-A", "-o", "json"])
    const items: readonly Item[] = JSON.parse(out).items
    const services = items.filter(
      ({ kind, metadata }) => kind === "Service" && ["foo", "app"].includes(metadata.namespace),
    )
    expect(services.map(({ metadata }) => metadata.name).sort()).toEqual(["httpbin", "web"])
    for (const { metadata, spec } of services) {
      const behind = items.filter(
        item =>
          item.kind === "Deployment" &&
          item.metadata.namespace === metadata.namespace &&
          Object.entries(spec.selector ?? {}).every(
            ([name, value]) => item.spec.template?.metadata.labels[name] === value,
          ),
      )
      expect(behind.length, metadata.name).toBeGreaterThan(0)
      for (const deployment of behind) {
        const ports = deployment.spec.template?.spec.containers.flatMap(container => container.ports) ?? []
        expect(ports.map(port => port?.containerPort)).toContain(spec.ports?.[0]?.targetPort)
      }
    }
  })

  it("are deleted as they were applied, including namespaces", async () => {
    const ran = await programs.merlonctl(["delete", "-f", `${FOLDER}/httpbin.yaml`])
    expect(ran).toMatchObject({ code: 0, err: "" })
    expect(ran.out).toMatch(/^serviceaccount "httpbin" deleted\n[\s\S]*\nnamespace "foo" deleted\n$/)
    expect((await programs.kubectl(["get", "ns", "foo"])).code).toBe(1)
  })
})

interface Item {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: readonly { readonly targetPort: number }[]
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: {
        readonly containers: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[]
      }
    }
  }
}
