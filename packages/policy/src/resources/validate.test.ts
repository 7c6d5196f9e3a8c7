// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { meshNames } from "../mesh/names.js"
import { DOCUMENT_ERRORS, rejection } from "./document-error.js"
import { MAX_FINDINGS } from "./field.js"
import { documentOf, expectClean, expectError, expectWarning, judge, NAMES } from "./testing/documents.js"
import { validate } from "./validate.js"

const valid = documentOf("AuthorizationPolicy", {})

describe("a document is rejected", () => {
  it.each([
    ["that is null", null, "", "a document must be an object"],
    ["that is a list", [], "", "a document must be an object"],
    ["that is text", "x", "", "a document must be an object"],
    ["without kind", { ...valid, kind: undefined }, "kind", "which JSON does not have"],
    ["of unknown kind", { ...valid, kind: "AuthorisationPolicy" }, "kind", "did you mean `AuthorizationPolicy`?"],
    ["of a kind that is nothing of ours", { ...valid, kind: "Pod" }, "kind", "unknown kind `Pod`; known are"],
    ["of a kind that is no text", { ...valid, kind: {} }, "kind", "unknown kind `object`"],
    [
      "of another group",
      { ...valid, apiVersion: "security.istio.io/v1" },
      "apiVersion",
      "write `security.merlon.dev/v1alpha3`",
    ],
    [
      "of the wrong group of ours",
      { ...valid, kind: "MeshService", spec: { hosts: ["a"] } },
      "apiVersion",
      "write `networking.merlon.dev/v1alpha3`",
    ],
    ["with an unknown field", { ...valid, specs: {} }, "specs", "did you mean `spec`?"],
    [
      "with data of another kind",
      { ...valid, data: {} },
      "data",
      "known here are `apiVersion`, `kind`, `metadata`, `spec` and `status`",
    ],
    ["with a field of the spec", { ...valid, rules: [] }, "rules", "`rules` belongs to `spec`"],
    [
      "without metadata",
      { apiVersion: valid.apiVersion, kind: valid.kind, spec: {} },
      "metadata",
      "`metadata` is missing",
    ],
    ["without name", { ...valid, metadata: {} }, "metadata.name", "`name` is missing"],
    ["with an upper-case name", { ...valid, metadata: { name: "A" } }, "metadata.name", "`A` is not a valid name"],
    ["with a number as name", { ...valid, metadata: { name: 1 } }, "metadata.name", 'put it in quotes: `"1"`'],
    [
      "with a bad namespace",
      { ...valid, metadata: { name: "a", namespace: "a.b" } },
      "metadata.namespace",
      "not a valid namespace",
    ],
    [
      "with a number as label",
      { ...valid, metadata: { name: "a", labels: { v: 1 } } },
      "metadata.labels.v",
      'put it in quotes: `"1"`',
    ],
    [
      "with a boolean as annotation",
      { ...valid, metadata: { name: "a", annotations: { "a.b/c": true } } },
      "metadata.annotations[a.b/c]",
      "put it in quotes",
    ],
    ["with a spec that is text", { ...valid, spec: "x" }, "spec", "`x` is text, not an object"],
    ["with a status that is text", { ...valid, status: "x" }, "status", "`status` must be an object"],
  ])("%s", (_, value, path, message) => {
    expectError(validate(value, NAMES), path, message)
  })

  it("with every error at once, each with code, path, problem and fix", () => {
    const { errors } = validate(
      { kind: "AuthorizationPolicy", metadata: {}, spec: { action: "X", rules: [{ form: [] }] }, extra: 1 },
      NAMES,
    )
    expect(errors.map(error => error.path)).toEqual([
      "extra",
      "apiVersion",
      "metadata.name",
      "spec.action",
      "spec.rules[0].form",
    ])
    for (const error of errors) {
      expect(Object.keys(DOCUMENT_ERRORS)).toContain(error.code)
      expect(error.message).toBe(`${error.path}: ${error.problem}; ${error.fix}`)
    }
  })

  it("in one sentence if requested", () => {
    const { errors } = judge("AuthorizationPolicy", { action: "DENY" })
    expect(rejection("p", "foo", errors)).toMatch(/^invalid policy p\.foo: spec\.rules: DENY action without `rules`/)
  })
})

describe("a document is accepted", () => {
  it("without a namespace, which is then the default one", () => {
    const { document } = validate({ ...valid, metadata: { name: "p" } }, NAMES)
    expect(document?.metadata.namespace).toBe("default")
    expect(
      validate({ ...valid, metadata: { name: "p" } }, NAMES, { namespace: "bar" }).document?.metadata.namespace,
    ).toBe("bar")
  })

  it("as the API server and kubectl print it", () => {
    expectClean(
      validate(
        {
          ...valid,
          metadata: {
            name: "p",
            namespace: "foo",
            creationTimestamp: null,
            uid: "1",
            generation: 2,
            resourceVersion: "3",
            managedFields: [{ fieldsV1: { "f:spec": {} } }],
            ownerReferences: [],
            annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}\n" },
          },
          status: { conditions: [] },
        },
        NAMES,
      ),
    )
  })

  it("with a warning if `spec` is missing", () => {
    const { spec: _, ...bare } = valid
    expectWarning(validate(bare, NAMES), "spec", "`spec` is missing and read as empty")
    expectWarning(validate({ ...valid, spec: null }, NAMES), "spec", "read as empty")
    expect(validate(bare, NAMES).document?.spec).toEqual({})
  })

  it("with a warning if a metadata field is misspelt", () => {
    expectWarning(judge("AuthorizationPolicy", {}, { label: {} }), "metadata.label", "did you mean `labels`?")
  })

  it("under the names of another mesh", () => {
    const names = meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" })
    expectClean(validate({ ...valid, apiVersion: "security.dubbo.apache.org/v1alpha3" }, names))
    expectError(validate(valid, names), "apiVersion", "write `security.dubbo.apache.org/v1alpha3`")
  })

  it("as a copy that later changes of the original do not affect", () => {
    const original = documentOf("AuthorizationPolicy", { rules: [{ to: [{ operation: { paths: ["/a"] } }] }] })
    const { document } = validate(original, NAMES)
    const before = JSON.stringify(document)
    ;(original.spec as { rules: unknown[] }).rules.length = 0
    expect(JSON.stringify(document)).toBe(before)
  })
})

describe("the dry-run annotation", () => {
  const annotated = (value: string) => ({ annotations: { "merlon.dev/dry-run": value } })
  const PATH = "metadata.annotations[merlon.dev/dry-run]"

  it.each(["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"])("accepts `%s`", value => {
    expectClean(judge("AuthorizationPolicy", {}, annotated(value)))
    expectClean(judge("AuthorizationPolicy", { action: "DENY", rules: [{}] }, annotated(value)))
  })

  it.each(["yes", "", "tRUE", "2"])("rejects `%s`", value => {
    expectError(judge("AuthorizationPolicy", {}, annotated(value)), PATH, `with invalid value (${value})`)
  })

  it("rejects action AUDIT", () => {
    const message =
      "the annotation merlon.dev/dry-run currently only supports action ALLOW/DENY, found action AUDIT in foo/p"
    expectError(judge("AuthorizationPolicy", { action: "AUDIT" }, annotated("true")), PATH, message)
  })

  it.each([
    ["RequestAuthentication", {}],
    ["PeerAuthentication", {}],
    ["MeshService", { hosts: ["a"] }],
  ] as const)("is rejected on a %s", (kind, spec) => {
    const message = "has unsupported annotation merlon.dev/dry-run, please remove the annotation"
    expectError(judge(kind, spec, annotated("true")), PATH, message)
  })
})

describe("a hostile document", () => {
  const rules = (value: unknown) =>
    judge("AuthorizationPolicy", { rules: [{ to: [{ operation: { paths: [value] } }] }] })
  const nest = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`) as unknown

  it.each(["__proto__", "constructor", "prototype", "toString"])("cannot smuggle in `%s`", name => {
    const spec = JSON.parse(`{"rules":[{"${name}":{"polluted":true}}]}`) as unknown
    expectError(judge("AuthorizationPolicy", spec), `spec.rules[0].${name}`, `unknown field \`${name}\``)
    const top = JSON.parse(`{"${name}":{"kind":"AuthorizationPolicy"}}`) as unknown
    expectError(validate(top, NAMES), name, `unknown field \`${name}\``)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it("may use `constructor` as a label, and no object inherits anything", () => {
    const { document } = judge("PeerAuthentication", { selector: { matchLabels: { constructor: "x" } } })
    expect(document).toBeDefined()
    const spec: object = document?.spec ?? {}
    expect(Object.getOwnPropertyNames(Object.prototype).filter(name => name in spec)).toEqual([])
    const labels = JSON.parse('{"__proto__":"x"}') as unknown
    expectError(
      judge("PeerAuthentication", { selector: { matchLabels: labels } }),
      "spec.selector.matchLabels.__proto__",
      "remove it",
    )
  })

  it.each([
    ["a text of three megabytes", rules("/".repeat(3_000_000)), "more than 2097152 characters"],
    ["a text of a megabyte", rules("/*".repeat(500_000)), "may not have more than 2048 characters"],
    ["a key of a megabyte", judge("AuthorizationPolicy", { ["x".repeat(1_000_000)]: 1 }), "unknown field `xxx"],
    ["two million values", rules(Array.from({ length: 2_000_000 }, () => 0)), "more than 100000 values"],
    ["nesting five thousand deep", judge("AuthorizationPolicy", nest(5_000)), "nested more than 40 deep"],
    ["nesting in metadata", judge("AuthorizationPolicy", {}, { x: nest(50) }), "nested more than 40 deep"],
    ["a number that is none", rules(Number.NaN), "which JSON does not have"],
    ["a function", rules(() => 1), "which JSON does not have"],
    ["a lone surrogate", rules("/\ud800"), "invisible character U+D800"],
    ["text that runs backwards", rules("/a\u202eb"), "invisible character U+202E"],
    ["a zero-width space", rules("/a\u200b"), "invisible character U+200B"],
    ["what was no UTF-8", rules(Buffer.from("/b\xfcro", "latin1").toString("utf8")), "save the file as UTF-8"],
    ["a NUL", rules("/a\0"), "invisible character U+0000"],
    [
      "a hidden character in a key",
      judge("PeerAuthentication", { selector: { matchLabels: { "a\u200d": "b" } } }),
      "invisible character U+200D",
    ],
  ])("is rejected with %s", (_, validation, message) => {
    expect(validation.document).toBeUndefined()
    expect(validation.errors.map(error => error.message).join("\n")).toContain(message)
    for (const { message: text } of validation.errors) expect(text.length).toBeLessThan(1_000)
  })

  it("gets a limited list of errors and warnings", () => {
    const bad = judge("AuthorizationPolicy", { rules: Array.from({ length: 512 }, (_, n) => ({ [`x${n}`]: 1 })) })
    expect(bad.errors).toHaveLength(MAX_FINDINGS + 1)
    expect(bad.errors.at(-1)?.message).toBe("412 more errors are not listed; mend these first")
    const odd = judge("AuthorizationPolicy", {
      rules: [{ to: [{ operation: { methods: Array.from({ length: 4096 }, () => "get") } }] }],
    })
    expect(odd.warnings).toHaveLength(MAX_FINDINGS + 1)
    expect(odd.document).toBeDefined()
  })

  it("cannot make an expression scan slashes in quadratic time", () => {
    const paths = Array.from({ length: 40 }, (_, n) => `a${"/".repeat(2_000)}{${n}`)
    const { errors } = judge("AuthorizationPolicy", { rules: [{ to: [{ operation: { paths } }] }] })
    expect(errors[0]?.message).toContain("invalid or unsupported path a////")
    expect(rules("/".repeat(1_000_000).concat("{*}x")).document).toBeUndefined()
  })

  it("cannot make validation recurse endlessly", () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    expectError(
      judge("AuthorizationPolicy", circle),
      "spec.self.self.self.self.self.self.self",
      "nested more than 40 deep",
    )
  })
})

describe("a document with too many parts", () => {
  const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, "not a label\u200b"]))
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, "\u200b"]))
  const errorsOf = (spec: object): readonly string[] =>
    validate(
      {
        ...{ apiVersion: "security.merlon.dev/v1alpha3", kind: "AuthorizationPolicy" },
        ...{ metadata: { name: "a", namespace: "foo" }, spec },
      },
      meshNames(),
    ).errors.map(({ code }) => code)

  it("is rejected as a whole instead of part by part", () => {
    expect(errorsOf({ selector: { matchLabels: labels } })).toEqual(["too-large"])
  })

  it("is not checked further if it has the maximum number of errors", () => {
    expect(new Set(errorsOf(fields))).toEqual(new Set(["unknown-field", "more-errors"]))
  })
})
