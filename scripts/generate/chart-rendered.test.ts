// SPDX-License-Identifier: Apache-2.0
// Compares what Helm renders from the chart with what `merlonctl install` creates for the same values.
// @module-tag needs/helm

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { installManifests, readValues } from "@merlon/control/install"
import { expect, it } from "vitest"
import { parseAllDocuments } from "yaml"

const ROOT = fileURLToPath(new URL("../../", import.meta.url))
const CHART = `${ROOT}deploy/helm/merlon`
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"))

function rendered(values: object): readonly { kind: string; metadata: { name: string; namespace?: string } }[] {
  const args = [
    "template",
    "merlon",
    CHART,
    "--namespace",
    "merlon-system",
    "--kube-version",
    "1.34.0",
    "--values",
    "-",
  ]
  const output = execFileSync("helm", args, { input: JSON.stringify(values), encoding: "utf8", maxBuffer: 2 ** 26 })
  return parseAllDocuments(output).flatMap(document => document.toJS() ?? [])
}

it("passes Helm's lint", () => {
  const output = execFileSync("helm", ["lint", CHART, "--namespace", "merlon-system"], { encoding: "utf8" })
  expect(output).toContain("1 chart(s) linted, 0 chart(s) failed")
})

it.each<[string, object]>([
  ["in the namespace of the release", {}],
  ["in a namespace of its own", { namespace: "edge", gateway: "public", httpRoute: "shop", replicas: 3 }],
  ["with options", { args: ["--gateway=10.0.0.0/8", "--forward-auth=nginx"] }],
])("installs an authorizer %s as `merlonctl install` does", (_, chosen) => {
  const values = { authorizer: { enabled: true, ...chosen } }
  const of = (objects: readonly { kind: string; metadata: { name: string } }[]) =>
    objects.filter(({ metadata }) => metadata.name === "merlon-authorizer").sort((a, b) => (a.kind < b.kind ? -1 : 1))
  const expected = of(installManifests(readValues(version, values)))
  expect(expected.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "ServiceAccount"])
  expect(of(rendered(values))).toMatchObject(JSON.parse(JSON.stringify(expected)))
})

it("installs no authorizer unless it is enabled", () => {
  expect(rendered({}).filter(({ metadata }) => metadata.name === "merlon-authorizer")).toEqual([])
})
