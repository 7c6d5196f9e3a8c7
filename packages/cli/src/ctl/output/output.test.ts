// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { Columns } from "./columns.js"
import { formatObject, formatObjects, withoutManagedFields } from "./objects.js"
import { headerOf, readTable, rowOf, type TableView } from "./table.js"

describe("columns", () => {
  it("are aligned, at least six wide", () => {
    expect(
      new Columns().format([
        ["NAME", "A", "AGE"],
        ["x", "yy", "1s"],
        ["long-name", "", "2s"],
      ]),
    ).toBe("NAME        A     AGE\nx           yy    1s\nlong-name         2s\n")
  })

  it("keep their widths", () => {
    const columns = new Columns()
    columns.format([["a-long-name", "x"]])
    expect(columns.format([["a", "y"]])).toBe("a             y\n")
  })

  it("count the characters that a terminal shows", () => {
    expect(
      new Columns().format([
        ["漢字漢字", "x"],
        ["a", "y"],
      ]),
    ).toBe("漢字漢字   x\na          y\n")
  })
})

describe("a table", () => {
  const table = readTable({
    kind: "Table",
    metadata: { resourceVersion: "7", continue: "" },
    columnDefinitions: [{ name: "Name" }, { name: "Mode", priority: 0 }, { name: "Why", priority: 1 }],
    rows: [
      { cells: ["a", null, 3], object: { metadata: { namespace: "foo", labels: { b: "2", a: "1" } } } },
      { cells: ["b\u001b[31m", "x\ny"], object: null },
    ],
  })
  if (table === undefined) throw new Error("a table")
  const view: TableView = { wide: false, withNamespace: false, withLabels: false, prefix: "" }
  const shown = (over: Partial<TableView>) => [
    headerOf(table, { ...view, ...over }),
    ...table.rows.map(row => rowOf(table, row, { ...view, ...over })),
  ]

  it.each<[string, Partial<TableView>, readonly (readonly string[])[]]>([
    [
      "plain",
      {},
      [
        ["NAME", "MODE"],
        ["a", ""],
        ["b^[[31m", "x..."],
      ],
    ],
    [
      "wide",
      { wide: true },
      [
        ["NAME", "MODE", "WHY"],
        ["a", "", "3"],
        ["b^[[31m", "x...", ""],
      ],
    ],
    [
      "of all namespaces",
      { withNamespace: true },
      [
        ["NAMESPACE", "NAME", "MODE"],
        ["foo", "a", ""],
        ["", "b^[[31m", "x..."],
      ],
    ],
    [
      "with labels",
      { withLabels: true },
      [
        ["NAME", "MODE", "LABELS"],
        ["a", "", "a=1,b=2"],
        ["b^[[31m", "x...", "<none>"],
      ],
    ],
    [
      "of several kinds",
      { prefix: "pod/" },
      [
        ["NAME", "MODE"],
        ["pod/a", ""],
        ["pod/b^[[31m", "x..."],
      ],
    ],
  ])("is shown %s", (_, over, expected) => {
    expect(shown(over)).toEqual(expected)
  })

  it("is undefined if the server sent something else", () => {
    expect(readTable({ kind: "PodList", items: [] })).toBeUndefined()
    expect(readTable(null)).toBeUndefined()
    expect(readTable({ kind: "Table", rows: 7 })).toMatchObject({ rows: [], columns: [] })
  })
})

describe("documents", () => {
  const object = {
    kind: "A",
    apiVersion: "v1",
    metadata: { name: "x", managedFields: [{}] },
    data: { on: "yes", at: "2026-01-01T00:00:00Z", n: "0x1f" },
  }

  it("have sorted keys", () => {
    expect(Object.keys(JSON.parse(formatObject("json", object)))).toEqual(["apiVersion", "data", "kind", "metadata"])
  })

  it("mean the same in YAML 1.1 and 1.2", () => {
    for (const version of ["1.1", "1.2"] as const)
      expect(parse(formatObject("yaml", object), { version })).toEqual(object)
  })

  it("are single or in a List", () => {
    expect(JSON.parse(formatObjects("json", [object], true)).kind).toBe("A")
    expect(JSON.parse(formatObjects("json", [object], false))).toMatchObject({ kind: "List", items: [{ kind: "A" }] })
    expect(JSON.parse(formatObjects("json", [], true))).toMatchObject({ kind: "List", items: [] })
  })

  it("omit managedFields", () => {
    expect(withoutManagedFields(object).metadata).toEqual({ name: "x" })
  })
})
