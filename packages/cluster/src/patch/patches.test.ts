// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { typeNamed } from "../kinds/type-table.js"
import { clone, type Json, type JsonObject } from "../value.js"
import { JsonPatchError, jsonPatch } from "./json-patch.js"
import { mergePatch } from "./merge-patch.js"
import { StrategicError, strategicMerge } from "./strategic.js"

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>

describe("merge patch", () => {
  // The examples of RFC 7386, appendix A.
  it.each<[Json, Json, Json]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("%j with %j is %j", (target, patch, expected) => expect(mergePatch(target, patch)).toEqual(expected))

  it("changes nothing the second time, and never changes its target", () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const before = clone(target)
        const once = mergePatch(target, patch)
        expect(target).toEqual(before)
        expect(mergePatch(once, patch)).toEqual(once)
      }),
    )
  })
})

describe("JSON patch", () => {
  it.each<[string, Json, JsonObject[], Json]>([
    ["adds", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["inserts", [1, 3], [{ op: "add", path: "/1", value: 2 }], [1, 2, 3]],
    ["appends", [1], [{ op: "add", path: "/-", value: 2 }], [1, 2]],
    ["removes", { a: [1, 2] }, [{ op: "remove", path: "/a/0" }], { a: [2] }],
    ["moves", { a: 1 }, [{ op: "move", from: "/a", path: "/b" }], { b: 1 }],
    ["copies", { a: [1] }, [{ op: "copy", from: "/a", path: "/b" }], { a: [1], b: [1] }],
    [
      "unescapes",
      { "a/b": 1, "c~d": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "remove", path: "/c~0d" },
      ],
      {},
    ],
    ["replaces a missing member, as Kubernetes does", {}, [{ op: "replace", path: "/a", value: 1 }], { a: 1 }],
  ])("%s", (_, target, operations, expected) => expect(jsonPatch(target, operations)).toEqual(expected))

  it.each<[JsonObject]>([
    [{ op: "test", path: "/a", value: 2 }],
    [{ op: "remove", path: "/nope" }],
    [{ op: "add", path: "/nope/x", value: 1 }],
    [{ op: "replace", path: "/list/7", value: 1 }],
    [{ op: "add", path: "/list/7", value: 1 }],
    [{ op: "frobnicate", path: "/a" }],
    [{ path: "/a" }],
  ])("rejects %j and does not change the target", operation => {
    const target = { a: 1, list: [1] }
    expect(() => jsonPatch(target, [{ op: "add", path: "/b", value: 1 }, operation])).toThrow(JsonPatchError)
    expect(target).toEqual({ a: 1, list: [1] })
  })

  it("is undone by removing an added member", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-y]{1,3}$/), json), json, (target, value) => {
        const added = jsonPatch(target, [{ op: "add", path: "/z", value }])
        expect(
          jsonPatch(added, [
            { op: "test", path: "/z", value },
            { op: "remove", path: "/z" },
          ]),
        ).toEqual(target)
      }),
    )
  })
})

describe("strategic merge", () => {
  const pod = typeNamed("io.k8s.api.core.v1.Pod")
  const base: JsonObject = {
    metadata: { labels: { a: "1" }, finalizers: ["x/a", "x/b"] },
    spec: {
      containers: [
        { name: "app", image: "a:1", env: [{ name: "A", value: "1" }] },
        { name: "side", image: "s:1" },
      ],
    },
  }
  const containers = (patch: JsonObject): Json | undefined =>
    (strategicMerge(base, { spec: patch }, pod).spec as JsonObject).containers

  it("merges lists by their key and puts new elements first", () => {
    expect(containers({ containers: [{ name: "app", image: "a:2" }] })).toEqual([
      { name: "app", image: "a:2", env: [{ name: "A", value: "1" }] },
      { name: "side", image: "s:1" },
    ])
    expect(containers({ containers: [{ name: "new", image: "n:1" }] })).toMatchObject([
      { name: "new" },
      { name: "app" },
      { name: "side" },
    ])
  })

  it("applies directives", () => {
    expect(containers({ containers: [{ name: "side", $patch: "delete" }] })).toMatchObject([{ name: "app" }])
    expect(containers({ containers: [{ name: "only" }, { $patch: "replace" }] })).toEqual([{ name: "only" }])
    expect(containers({ "$setElementOrder/containers": [{ name: "side" }, { name: "app" }] })).toMatchObject([
      { name: "side" },
      { name: "app" },
    ])
    expect(strategicMerge(base, { metadata: { "$deleteFromPrimitiveList/finalizers": ["x/a"] } }, pod)).toMatchObject({
      metadata: { finalizers: ["x/b"] },
    })
    expect(strategicMerge(base, { metadata: { labels: { $patch: "replace", b: "2" } } }, pod)).toMatchObject({
      metadata: { labels: { b: "2" } },
    })
  })

  it("rejects an element without its merge key", () => {
    expect(() => containers({ containers: [{ image: "x" }] })).toThrow(StrategicError)
  })

  it("never changes its target", () => {
    const before = clone(base)
    containers({ containers: [{ name: "app", env: [{ name: "B", value: "2" }], image: null }] })
    expect(base).toEqual(before)
  })
})
