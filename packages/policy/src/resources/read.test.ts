// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { readDocuments } from "./read.js"
import { NAMES } from "./testing/documents.js"
import { TEXT_LIMITS } from "./yaml-text.js"

const HEAD =
  "apiVersion: security.merlon.dev/v1alpha3\nkind: AuthorizationPolicy\nmetadata: {name: p, namespace: foo}\n"
const read = (text: string) => readDocuments(text, NAMES)
const errorsOf = (text: string) =>
  read(text)
    .flatMap(document => document.errors)
    .map(({ position, message }) => `${position?.line}:${position?.column} ${message}`)

describe("a text is read", () => {
  it("with several documents, empty ones left out", () => {
    const documents = read(`# a\n---\n${HEAD}spec: {}\n---\n---\n${HEAD}spec: {action: AUDIT}\n...\n`)
    expect(documents.map(({ document }) => document?.spec)).toEqual([{}, { action: "AUDIT" }])
  })

  it("as JSON", () => {
    const json = JSON.stringify(
      {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "PeerAuthentication",
        metadata: { name: "a" },
        spec: { mtls: { mode: "STRICT" } },
      },
      undefined,
      2,
    )
    expect(read(json)[0]?.document?.spec).toEqual({ mtls: { mode: "STRICT" } })
  })

  it("with lists expanded", () => {
    const item = `{apiVersion: security.merlon.dev/v1alpha3, kind: PeerAuthentication, metadata: {name: a}, spec: {}}`
    expect(read(`apiVersion: v1\nkind: List\nitems:\n- ${item}\n- ${item}\n`)).toHaveLength(2)
    expect(read(`kind: PeerAuthenticationList\nitems: [${item}]\n`)[0]?.document?.kind).toBe("PeerAuthentication")
    expect(errorsOf(`kind: List\nitems:\n- kind: Nope\n  metadata: {name: a}\n`)).toEqual([
      expect.stringMatching(/^3:9 kind: unknown kind `Nope`/),
    ])
  })

  it("with numbers as keys, which become strings as in JSON", () => {
    const [document] = read(
      "apiVersion: security.merlon.dev/v1alpha3\nkind: PeerAuthentication\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  portLevelMtls:\n    8080: {mode: DISABLE}\n",
    )
    expect(document?.document?.spec).toEqual({
      selector: { matchLabels: { a: "b" } },
      portLevelMtls: { "8080": { mode: "DISABLE" } },
    })
  })

  it("with a few aliases", () => {
    const [document] = read(`${HEAD}spec:\n  rules:\n  - to: &t [{operation: {paths: ["/a"]}}]\n  - to: *t\n`)
    expect(document?.errors).toEqual([])
    expect(document?.document?.spec).toMatchObject({
      rules: [{ to: [{}] }, { to: [{ operation: { paths: ["/a"] } }] }],
    })
  })

  it("with documents of other kinds left unchanged", () => {
    const [document] = read("apiVersion: v1\nkind: Namespace\nmetadata: {name: foo}\n")
    expect(document?.document).toBeUndefined()
    expect(document?.value).toEqual({ apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } })
  })
})

describe("an error has line and column", () => {
  it.each([
    ["of an unknown field", `${HEAD}spec:\n  actoin: ALLOW\n`, "5:3 spec.actoin: unknown field"],
    ["of a bad value", `${HEAD}spec:\n  action: ALOW\n`, "5:11 spec.action: unsupported value"],
    [
      "of an item",
      `${HEAD}spec:\n  rules:\n  - to:\n    - operation:\n        ports: ["1", 80]\n`,
      "8:22 spec.rules[0].to[0].operation.ports[1]",
    ],
    [
      "of a missing field, where it should be",
      `${HEAD}spec:\n  rules:\n  - when:\n    - values: [a]\n`,
      "7:7 spec.rules[0].when[0].key: `key` is missing",
    ],
    ["of the second document", `${HEAD}spec: {}\n---\n${HEAD}spec: {x: 1}\n`, "9:8 spec.x: unknown field"],
    ["of a syntax error", "a: [1\nb: 2\n", "2:1 flow sequence"],
    ["of a tab", "a:\n\tb: 1\n", "2:1 tabs are not allowed as indentation"],
    ["of a duplicate key", `${HEAD}spec: {}\nspec: {rules: [{}]}\n`, "5:1 the key `spec` is there twice"],
    ["of a duplicate key in JSON", '{"a": 1, "b": {"c": 1, "c": 2}}', "1:24 the key `c` is there twice"],
    ["of `__proto__`", `${HEAD}spec:\n  __proto__: {rules: []}\n`, "5:3 spec.__proto__: unknown field `__proto__`"],
    ["of `constructor`", `${HEAD}spec:\n  constructor: {}\n`, "5:3 spec.constructor: unknown field `constructor`"],
    ["of an unknown tag", `${HEAD}spec: !js {}\n`, "unresolved tag"],
    ["of a binary value", `${HEAD}spec: {action: !!binary aGk=}\n`, "4:"],
    [
      "of a number that JSON lacks",
      `${HEAD}spec: {action: .nan}\n`,
      "4:16 the value is of a type that JSON does not have",
    ],
    ["of a key that is a map", "? {a: 1}\n: 2\n", "a key must be plain text"],
    ["of an alias without anchor", "a: *b\n", "alias"],
    ["of an alias to itself", "a: &a [*a]\n", "more than 50 aliases"],
  ])("%s", (_, text, expected) => {
    expect(errorsOf(text).join("\n")).toContain(expected)
    expect(({} as Record<string, unknown>).rules).toBeUndefined()
  })
})

describe("a hostile text is rejected", () => {
  const fill = (piece: string, length: number = TEXT_LIMITS.characters) =>
    piece.repeat(Math.floor(length / piece.length))
  const laughs = ["a0: &a0 [l, l, l, l, l, l, l, l, l, l]"]
  for (let n = 1; n < 12; n++) laughs.push(`a${n}: &a${n} [${`*a${n - 1}, `.repeat(10)}]`)

  it.each([
    ["a billion laughs", laughs.join("\n"), "more than 50 aliases"],
    [
      "laughs within the number of aliases",
      `a: &a [${"1,".repeat(3_000)}]\nb: [${"*a,".repeat(45)}]\n`,
      "more than 100000 values",
    ],
    ["five megabytes", fill("- a\n", 5_000_000), "more than 1048576 characters"],
    ["a megabyte of brackets", fill("["), "nested more than 64 deep"],
    ["a megabyte of braces", fill("{a: "), "nested more than 64 deep"],
    ["a megabyte of dashes", fill("- "), "nested more than 64 deep"],
    ["a megabyte of question marks", fill("? "), "nested more than 64 deep"],
    ["a megabyte of closing brackets", fill("]"), "this does not look like YAML"],
    ["a megabyte of directives", fill("%\n"), "more than 100 directives"],
    ["a megabyte of documents", fill("---\n"), "more than 1000 documents"],
    ["a megabyte of numbers", `[${fill("1,", 1_000_000)}]`, "tokens"],
    ["as many keys as pass", fill("k: 1\n", 200_000), "the key `k` is there twice"],
    ["as many items as pass", `[${fill("1,", 180_000)}]`, "a document must be an object"],
    ["a quoted megabyte", `"${fill("\\n", 1_000_000)}"`, "a document must be an object"],
    ["a folded megabyte", `a: ${fill("b\n ", 1_000_000)}`, "unknown field `a`"],
    ["tabs", fill("\t"), ""],
    ["quotes without end", fill('"'), "tokens"],
    ["anchors", fill("&a "), "tokens"],
  ])("of %s", (_, text, expected) => {
    const documents = read(text)
    expect(documents.every(({ document }) => document === undefined)).toBe(true)
    expect(documents.flatMap(({ errors }) => errors.map(({ message }) => message.toLowerCase())).join("\n")).toContain(
      expected.toLowerCase(),
    )
  })

  it("but not if it is merely large", () => {
    const paths = Array.from({ length: 4_000 }, (_, n) => `"/path/${n}"`).join(", ")
    expect(read(`${HEAD}spec: {rules: [{to: [{operation: {paths: [${paths}]}}]}]}\n`)[0]?.errors).toEqual([])
  })
})
