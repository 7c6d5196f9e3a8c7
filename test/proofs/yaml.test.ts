// SPDX-License-Identifier: Apache-2.0
// How the checker reads files: what it reads otherwise than Merlon, or skips, a certificate could leave out.

import { describe, expect, it } from "vitest"
import { documentsIn, Invalid } from "../../packages/proof-check/src/index.js"

describe("the checker reads YAML", () => {
  it.each([
    ["%YAML 1.1", "%YAML 1.1\n---\na: [on, 0o17, 1:30, <<, 2001-01-01]\n"],
    ["no version", "a: [on, 0o17, 1:30, <<, 2001-01-01]\n"],
  ])("as version 1.2 with %s", (_, text) => {
    expect(documentsIn(text, "a.yaml")).toEqual([{ a: ["on", 15, "1:30", "<<", "2001-01-01"] }])
  })

  it.each([
    ["a Kubernetes list", "kind: List\nitems: [kind: A, kind: B]\n"],
    ["a list of one kind", "kind: AList\nitems: [{}, kind: B]\n"],
    ["a list in a list", "kind: List\nitems: [{ kind: List, items: [kind: A] }, kind: B]\n"],
    ["a plain list", "- kind: A\n- kind: B\n"],
    ["several documents", "kind: A\n---\nkind: B\n"],
  ])("with the documents of %s", (_, text) => {
    expect(documentsIn(text, "a.yaml")).toEqual([expect.objectContaining({ kind: "A" }), { kind: "B" }])
  })

  it("without the items of an object with a name, which is not a list", () => {
    expect(documentsIn("kind: AllowList\nmetadata: { name: a }\nitems: [kind: A]\n", "a.yaml")).toHaveLength(1)
  })

  it.each([
    ["an unknown tag", "a: !b c\n"],
    ["a duplicate key", "a: b\na: c\n"],
    ["a duplicate key in quotes", '80: b\n"80": c\n'],
    ["a syntax error", "a: [\n"],
  ])("but not with %s", (_, text) => expect(() => documentsIn(text, "a.yaml")).toThrow(Invalid))
})
