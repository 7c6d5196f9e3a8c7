// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { OBSERVATION_RESOURCES } from "./resources.js"
import { tableOf, tableRequest } from "./table.js"

const KUBECTL =
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
const NOW = Date.parse("2026-01-02T12:00:00Z")
const type = { apiVersion: "answers.merlon.dev/v1alpha1", kind: "Call" }

describe("the preferred table version", () => {
  it.each([
    [undefined, undefined],
    ["application/json", undefined],
    ["*/*", undefined],
    [KUBECTL, "v1"],
    ["application/json;as=Table;g=meta.k8s.io;v=v1beta1, application/json", "v1beta1"],
    ["application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", undefined],
    ["application/json;as=Table;v=v2;g=meta.k8s.io,application/json", undefined],
    [
      "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io",
      "v1",
    ],
  ])("for `%s` is %s", (accept, version) => {
    expect(tableRequest(accept, new URLSearchParams())?.version).toBe(version)
  })
})

describe("a table", () => {
  const item = {
    ...type,
    metadata: { name: "abc", namespace: "app" },
    spec: {
      caller: "spiffe://cluster.local/ns/app/sa/consumer",
      workload: "app/web",
      port: 8080,
      protocol: "http",
      method: "GET",
      path: "/",
      verdict: "allow",
      stage: "allow",
      rule: { policy: "app/only-consumer", rule: 0 },
      firstSeen: "2025-12-31T12:00:00Z",
      lastSeen: "2026-01-02T11:58:30Z",
      count: 3,
    },
  }
  const [calls] = OBSERVATION_RESOURCES
  const shown = (include: "None" | "Metadata" | "Object") => {
    if (calls === undefined) return expect.unreachable()
    return tableOf(calls, [item], { version: "v1", include }, { metadata: { resourceVersion: "0" }, now: NOW })
  }

  it("has the cells of its kind, and as much of the object as requested", () => {
    const cells = [
      "90s",
      3,
      "ns/app/sa/consumer",
      "app/web",
      8080,
      "GET /",
      "allow",
      "app/only-consumer[0]",
      "allow",
      "2d",
      "abc",
    ]
    const metadata = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: item.metadata }
    expect(shown("Metadata")).toMatchObject({ kind: "Table", rows: [{ cells, object: metadata }] })
    expect(shown("Object")).toMatchObject({ rows: [{ object: item }] })
    expect(shown("None")).toMatchObject({ rows: [{ object: null }] })
  })

  it.each(OBSERVATION_RESOURCES.map(resource => [resource.name, resource] as const))(
    "of %s shows absent values as a dash, and names the object",
    (_, resource) => {
      const bare = { ...item, spec: {} }
      const table = tableOf(resource, [bare], { version: "v1", include: "None" }, { metadata: {}, now: NOW })
      const { columnDefinitions, rows } = table as {
        columnDefinitions: { format: string }[]
        rows: { cells: unknown[] }[]
      }
      expect(columnDefinitions.filter(({ format }) => format === "name")).toHaveLength(1)
      const cells = rows[0]?.cells ?? []
      expect(cells).toHaveLength(columnDefinitions.length)
      expect(cells.filter(cell => cell !== "-" && cell !== "" && cell !== 0 && cell !== "abc")).toEqual([])
    },
  )
})
