// SPDX-License-Identifier: Apache-2.0
// Generates valid and invalid specs from a schema for property tests.

import fc from "fast-check"
import type { JsonSchema } from "../crd.js"
import { isObject } from "../field.js"
import type { KindDefinition } from "../kinds.js"

export function arbitrarySpec(definition: KindDefinition): fc.Arbitrary<unknown> {
  return arbitraryOf({ ...definition.spec }, "spec")
}

/** Words that many fields accept, and some that few accept. */
const WORDS = ["a", "a", "a", "web", "/x", "x-y", "*", "a*", "", "https://a/b"]
const FITTING: { readonly [field: string]: readonly string[] } = {
  ipBlocks: ["10.0.0.1", "10.0.0.0/8", "x"],
  ports: ["80", "0", "65536"],
  paths: ["/a", "/a/{*}", "/{**}/{*}", "*"],
  key: ["source.ip", "request.headers[a]", "connection.sni", "x"],
  jwksUri: ["https://a/b", "http://a", "/a", "ftp://a"],
  jwks: ["{}"],
  timeout: ["5s", "1ms", "0s", "1.5h", "5"],
}

/** Valid and invalid values in the shape that a schema requires, so that most of them reach the rules. */
function arbitraryOf(node: JsonSchema, field: string): fc.Arbitrary<unknown> {
  if (Array.isArray(node.enum)) return fc.constantFrom(...(node.enum as readonly unknown[]))
  if (node.type === "string") return fc.constantFrom(...(FITTING[positive(field)] ?? WORDS))
  if (node.type === "integer") return fc.constantFrom(0, 1, 50, 100)
  if (node.type === "boolean") return fc.boolean()
  if (node.type === "array" && isObject(node.items)) {
    const item = arbitraryOf(node.items, field)
    return fc.oneof({ weight: 9, arbitrary: fc.array(item, { minLength: 1, maxLength: 2 }) }, fc.constant([]))
  }
  if (isObject(node.additionalProperties)) {
    const keys = field === "portLevelMtls" ? ["80", "8080", "0", "x"] : ["a", "a", "app", "a*"]
    return fc.dictionary(fc.constantFrom(...keys), arbitraryOf(node.additionalProperties, field), { maxKeys: 2 })
  }
  const required = Array.isArray(node.required) ? (node.required as readonly string[]) : []
  const properties = Object.entries(isObject(node.properties) ? node.properties : {})
  // Only a few fields at a time: of many random ones, one is always invalid.
  const odds = Math.max(1, Math.round(properties.length / 2))
  const fields = properties.map(([name, child]) => {
    const present = arbitraryOf(isObject(child) ? child : {}, name)
    if (required.includes(name)) return fc.tuple(fc.constant(name), present)
    const absent = { weight: odds, arbitrary: fc.constant(undefined) }
    return fc.tuple(fc.constant(name), fc.oneof({ weight: 1, arbitrary: present }, absent))
  })
  return fc.tuple(...fields).map(entries => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

function positive(field: string): string {
  const name = field.replace(/^(not|remote)(?=[A-Z])/, "").replace(/^jwks_uri$/, "jwksUri")
  return name.charAt(0).toLowerCase() + name.slice(1)
}
