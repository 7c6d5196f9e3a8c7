// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { typeNamed } from "../../kinds/type-table.js"
import type { JsonObject } from "../../value.js"
import { applyTypeOf } from "./apply-type.js"
import { applyConfiguration, type FieldManagement, trackUpdate } from "./field-manager.js"
import { FieldSet } from "./field-set.js"
import { compare, merge, toFieldSet } from "./typed.js"

const type = applyTypeOf(typeNamed("io.k8s.api.core.v1.ConfigMap"))
const by = (manager: string, operation: "Apply" | "Update" = "Apply"): FieldManagement => ({
  type,
  empty: { kind: "ConfigMap", apiVersion: "v1", metadata: {} },
  owner: { manager, operation, apiVersion: "v1", subresource: "" },
  now: "2026-01-01T00:00:00Z",
  allowed: set => set,
})
const map = (data: Record<string, string>): JsonObject => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a" },
  data,
})
const apply = (
  live: JsonObject | undefined,
  data: Record<string, string>,
  manager: string,
  force = false,
): JsonObject => applyConfiguration(live, map(data), by(manager), force, "/a; /v1, Kind=ConfigMap")

describe("server-side apply", () => {
  it("removes fields that their manager no longer applies", () => {
    const first = apply(undefined, { a: "1", b: "2" }, "alice")
    expect(apply(first, { a: "1" }, "alice").data).toEqual({ a: "1" })
  })

  it("keeps fields that another manager also owns", () => {
    const shared = apply(apply(undefined, { a: "1" }, "alice"), { a: "1" }, "bob")
    const left = apply(shared, {}, "bob")
    expect(left.data).toEqual({ a: "1" })
    expect(apply(left, {}, "alice").data).not.toEqual({ a: "1" })
  })

  it("reports a conflict, and takes fields over by force", () => {
    const first = apply(undefined, { a: "1" }, "alice")
    expect(() => apply(first, { a: "2" }, "bob")).toThrow(/conflict with "alice": \.data\.a/)
    const forced = apply(first, { a: "2" }, "bob", true)
    expect(forced.data).toEqual({ a: "2" })
    expect(() => apply(forced, { a: "3" }, "alice")).toThrow(/conflict with "bob"/)
  })

  it("makes the manager of an update the owner of changed fields", () => {
    const first = apply(undefined, { a: "1" }, "alice")
    const changed = trackUpdate(first, { ...first, data: { a: "9" } }, by("hand", "Update"))
    expect(() => apply(changed, { a: "1" }, "alice")).toThrow(/conflict with "hand" using v1/)
  })

  it("changes nothing if the configuration is unchanged", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-e]$/), fc.string()), data => {
        const once = apply(undefined, data, "alice")
        expect(apply(once, data, "alice")).toEqual(once)
      }),
    )
  })

  it("rejects fields that the kind does not have", () => {
    expect(() =>
      applyConfiguration(undefined, { ...map({}), bogus: 1 }, by("alice"), false, "/a; /v1, Kind=ConfigMap"),
    ).toThrow("failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema")
  })
})

it("accepts CRDs, whose schemas have schemas in place of values", () => {
  const definition = applyTypeOf(
    typeNamed("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"),
  )
  const openAPIV3Schema = {
    type: "object",
    properties: {
      items: { type: "array", items: { type: "string" } },
      byName: { type: "object", additionalProperties: { type: "string" } },
    },
  }
  const object = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "a" },
    spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] },
  }
  expect(applyConfiguration(undefined, object, { ...by("alice"), type: definition }, false, "").spec).toEqual(
    object.spec,
  )
})

describe("field sets", () => {
  const path = fc.array(fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}', "v:1"), { minLength: 1, maxLength: 3 })
  const set = fc.array(path, { maxLength: 6 }).map(paths => {
    const out = new FieldSet()
    for (const one of paths) out.insert(one)
    return out
  })

  it("can be written and read back", () => {
    fc.assert(fc.property(set, one => FieldSet.fromJson(one.toJson()).equals(one)))
  })

  it("satisfy the laws of sets", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(a.union(b).equals(b.union(a))).toBe(true)
        expect(a.difference(b).intersection(b).isEmpty()).toBe(true)
        expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true)
      }),
    )
  })
})

describe("typed values", () => {
  const data = fc.dictionary(fc.stringMatching(/^[a-e]$/), fc.string())

  it("differ by exactly what a merge changes", () => {
    fc.assert(
      fc.property(data, data, (left, right) => {
        const merged = merge(type, map(left), map(right))
        const changes = compare(type, map(left), merged)
        expect(changes.removed.isEmpty()).toBe(true)
        expect(compare(type, merged, merge(type, merged, map(right))).modified.isEmpty()).toBe(true)
        expect(toFieldSet(type, map(right)).difference(toFieldSet(type, merged)).isEmpty()).toBe(
          Object.keys(right).length > 0 || Object.keys(left).length === 0,
        )
      }),
    )
  })
})
