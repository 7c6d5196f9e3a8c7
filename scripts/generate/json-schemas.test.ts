// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { meshNames } from "@merlon/policy/mesh"
import { KINDS } from "@merlon/policy/resources"
import { Ajv, type ValidateFunction } from "ajv"
import { describe, expect, it } from "vitest"
import { parse, parseAllDocuments, stringify } from "yaml"
import { jsonSchemas } from "./json-schemas.js"

const ROOT = fileURLToPath(new URL("../../", import.meta.url))
const FILES = jsonSchemas(meshNames())

const ajv = new Ajv({ strict: false, allErrors: true, formats: { int32: true } })
for (const [path, text] of FILES) ajv.addSchema(JSON.parse(text), basename(path))
const schema = (name: string): ValidateFunction => {
  const found = ajv.getSchema(name)
  if (found === undefined) throw new Error(`no schema ${name}`)
  return found
}

it.each([...FILES])("%s is up to date (`npm run generate`)", (path, text) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text)
})

it("are the only files in schemas", () => {
  expect(
    readdirSync(join(ROOT, "schemas"))
      .map(name => `schemas/${name}`)
      .sort(),
  ).toEqual([...FILES.keys()].sort())
})

/** Our samples that contain only policies. */
const samples = readdirSync(join(ROOT, "samples"), { recursive: true, encoding: "utf8" })
  .map(path => `samples/${path}`)
  .filter(path => /^samples\/(policies|answers)\/.*\.yaml$/.test(path) && !path.endsWith(".test.yaml"))
  .sort()

describe.each(samples)("%s", path => {
  const documents = parseAllDocuments(readFileSync(join(ROOT, path), "utf8"))

  it("references an existing schema for each document", () => {
    const lines = readFileSync(join(ROOT, path), "utf8").split(/^---$/m)
    expect(lines).toHaveLength(documents.length)
    for (const [index, text] of lines.entries()) {
      const [, named = ""] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(text) ?? []
      expect(existsSync(join(ROOT, dirname(path), named)), `${path}: ${named}`).toBe(true)
      expect(basename(named)).toBe(`${documents[index]?.toJS().kind.toLowerCase()}.json`)
    }
  })

  it("is valid", () => {
    for (const document of documents) {
      for (const name of [`${document.toJS().kind.toLowerCase()}.json`, "merlon.json"]) {
        const validate = schema(name)
        expect(validate(document.toJS()), JSON.stringify(validate.errors)).toBe(true)
      }
    }
  })
})

it.each(KINDS.map(({ kind, singular, example }) => [kind, singular, example] as const))(
  "the example of %s is valid, and invalid with an unknown field",
  (kind, singular, example) => {
    const group = kind === "MeshService" ? "networking" : "security"
    const document = { apiVersion: `${group}.merlon.dev/v1alpha3`, kind, ...parse(example) }
    const validate = schema(`${singular}.json`)
    expect(validate(document), JSON.stringify(validate.errors)).toBe(true)
    expect(validate({ ...document, spec: { ...document.spec, nothing: 1 } })).toBe(false)
  },
)

const POLICY = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name: "a", namespace: "foo" },
  spec: { action: "ALLOW", rules: [{ to: [{ operation: { methods: ["GET"] } }] }] },
}

it.each([
  ["a misspelt field of a rule", { spec: { rules: [{ too: [] }] } }],
  ["an invalid value", { spec: { action: "PERMIT" } }],
  ["a string instead of a list", { spec: { rules: [{ to: [{ operation: { methods: "GET" } }] }] } }],
  ["the group of another mesh", { apiVersion: "security.istio.io/v1" }],
  ["an unknown kind", { kind: "AuthorizationPolice" }],
  ["an unknown field next to the spec", { specs: {} }],
  ["a label that is a number", { metadata: { name: "a", labels: { version: 1 } } }],
])("rejects %s", (_, change) => {
  expect(schema("merlon.json")(POLICY)).toBe(true)
  expect(schema("merlon.json")({ ...POLICY, ...change }), stringify(change)).toBe(false)
})
