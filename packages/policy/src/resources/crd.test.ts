// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { meshNames } from "../mesh/names.js"
import { customResourceDefinitions, type JsonSchema } from "./crd.js"
import type { Kind } from "./document.js"
import { isObject } from "./field.js"
import { KINDS } from "./kinds.js"
import { arbitrarySpec } from "./testing/arbitrary.js"
import { crdValidator } from "./testing/crd-validator.js"
import { documentOf, NAMES } from "./testing/documents.js"
import { validate } from "./validate.js"

const CRDS = customResourceDefinitions(NAMES)
const validators = new Map(CRDS.map(crd => [crd.spec.names.kind, crdValidator(crd)]))
const rejectedByCrd = (kind: Kind, document: unknown) => validators.get(kind)?.(document) ?? ["no such kind"]

function nodesOf(schema: JsonSchema): readonly JsonSchema[] {
  const properties = isObject(schema.properties) ? Object.values(schema.properties) : []
  return [schema, ...[...properties, schema.items, schema.additionalProperties].filter(isObject).flatMap(nodesOf)]
}

describe("the CRDs", () => {
  it("have the expected names", () => {
    expect(CRDS.map(crd => [crd.metadata.name, crd.spec.names.shortNames[0], crd.spec.names.categories])).toEqual([
      ["requestauthentications.security.merlon.dev", "ra", ["merlon", "merlon-policy"]],
      ["authorizationpolicies.security.merlon.dev", "ap", ["merlon", "merlon-policy"]],
      ["peerauthentications.security.merlon.dev", "pa", ["merlon", "merlon-policy"]],
      ["policyinvariants.security.merlon.dev", "pi", ["merlon", "merlon-policy"]],
      ["meshservices.networking.merlon.dev", "ms", ["merlon"]],
    ])
    const dubbo = customResourceDefinitions(meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" }))
    expect(dubbo[4]?.metadata.name).toBe("meshservices.networking.dubbo.apache.org")
  })

  // apiextensions-apiserver: "structural schema" and its forbidden keywords.
  it.each(CRDS.map(crd => [crd.spec.names.kind, crd] as const))("%s has a structural schema", (_, crd) => {
    for (const node of nodesOf(crd.spec.versions[0].schema.openAPIV3Schema)) {
      expect(node.type, JSON.stringify(node)).toBeTypeOf("string")
      expect(node.additionalProperties).not.toBe(false)
      expect(isObject(node.properties) && isObject(node.additionalProperties)).toBe(false)
      for (const keyword of [
        "$ref",
        "patternProperties",
        "const",
        "uniqueItems",
        "definitions",
        "anyOf",
        "oneOf",
        "allOf",
        "~kind",
        "~optional",
      ]) {
        expect(node).not.toHaveProperty([keyword])
      }
      if (Array.isArray(node.required))
        for (const name of node.required) expect(node.properties).toHaveProperty([String(name)])
      for (const keyword of Object.keys(node)) expect(keyword).not.toMatch(/^x-(?!kubernetes-)/)
    }
  })

  // The API server's estimate of CEL's cost multiplies by the largest size of every list around a rule.
  it.each(CRDS.map(crd => [crd.spec.names.kind, crd] as const))("%s bounds every list around a CEL rule", (_, crd) => {
    const hasRules = (node: JsonSchema) => nodesOf(node).some(inner => inner["x-kubernetes-validations"] !== undefined)
    for (const node of nodesOf(crd.spec.versions[0].schema.openAPIV3Schema)) {
      if (node.type === "array" && hasRules(node)) expect(node.maxItems).toBeTypeOf("number")
      if (isObject(node.additionalProperties) && hasRules(node)) expect(node.maxProperties).toBeTypeOf("number")
      if (node.type === "string" && hasRules(node)) expect(node.maxLength).toBeTypeOf("number")
    }
  })

  it("keep unknown fields, so that admission rejects them", () => {
    const document = documentOf("AuthorizationPolicy", { rules: [{ form: [] }] })
    expect(rejectedByCrd("AuthorizationPolicy", document)).toEqual([])
    expect(validate(document, NAMES).errors).toHaveLength(1)
  })
})

describe("the CEL rules and validate() reject alike", () => {
  const labels = (matchLabels: unknown) => ({ selector: { matchLabels } })
  const split = (...weights: readonly number[]) => ({
    hosts: ["a"],
    routes: [{ service: weights.map((weight, n) => ({ host: "a", name: `v${n}`, labels: { v: `${n}` }, weight })) }],
  })
  const table = [
    ["PeerAuthentication", labels({ "a*": "b" }), "wildcard not allowed in label key match"],
    ["PeerAuthentication", labels({ a: "b*" }), "wildcard not allowed in label value match"],
    ["PeerAuthentication", labels({ "": "b" }), "key must not be empty"],
    ["PeerAuthentication", { portLevelMtls: { 80: {} } }, "portLevelMtls requires selector"],
    ["PeerAuthentication", { ...labels({}), portLevelMtls: { 80: {} } }, "portLevelMtls requires selector"],
    ["PeerAuthentication", { ...labels({ a: "b" }), portLevelMtls: { 0: {} } }, "port must be between 1-65535"],
    ["PeerAuthentication", { ...labels({ a: "b" }), portLevelMtls: { 65536: {} } }, "port must be between 1-65535"],
    ["PeerAuthentication", { ...labels({ a: "b" }), portLevelMtls: { http: {} } }, "port must be between 1-65535"],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", jwks: "x", jwksUri: "https://a" }] },
      "only one of jwks or jwksUri can be set",
    ],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", jwks_uri: "https://a", jwksUri: "https://a" }] },
      "only one of jwks or jwksUri can be set",
    ],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", jwks: "x", caBundle: "y" }] },
      "caBundle is for keys that are fetched, and jwks has the keys",
    ],
    ["RequestAuthentication", { jwtRules: [{}] }, "issuer or jwksUri must be non-empty string"],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", jwksUri: "ftp://a" }] },
      "url must have scheme http:// or https://",
    ],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", jwksUri: "/a" }] },
      "url must have scheme http:// or https://",
    ],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", timeout: "0s" }] },
      "must be a valid duration greater than 1ms",
    ],
    [
      "RequestAuthentication",
      { jwtRules: [{ issuer: "a", timeout: "soon" }] },
      "must be a valid duration greater than 1ms",
    ],
    ["PolicyInvariant", { never: [] }, "a PolicyInvariant without rules has no effect"],
    [
      "AuthorizationPolicy",
      { selector: {}, targetRefs: [{ kind: "Service", name: "a" }] },
      "only one of targetRefs or selector can be set",
    ],
    [
      "PeerAuthentication",
      { targetRefs: [{ kind: "Gateway", name: "a" }] },
      "a target of a PeerAuthentication must be",
    ],
    [
      "PeerAuthentication",
      { targetRefs: [{ group: "x", kind: "Service", name: "a" }] },
      "a target of a PeerAuthentication",
    ],
    ["RequestAuthentication", { targetRefs: [{ kind: "Gateway", name: "a" }] }, "a target must be a Service"],
    [
      "RequestAuthentication",
      { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Service", name: "a" }] },
      "a target must be a Service",
    ],
    [
      "AuthorizationPolicy",
      { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "x".repeat(64) }] },
      "the name of a Gateway or a route must have at most 63 characters",
    ],
    ["AuthorizationPolicy", { action: "DENY" }, "DENY action without `rules` is meaningless"],
    ["AuthorizationPolicy", { action: "DENY", rules: [] }, "DENY action without `rules` is meaningless"],
    [
      "AuthorizationPolicy",
      { rules: [{ from: [{ source: { serviceAccounts: ["a"], namespaces: ["b"] } }] }] },
      "Cannot set serviceAccounts with namespaces or principals",
    ],
    [
      "AuthorizationPolicy",
      { rules: [{ from: [{ source: { notServiceAccounts: ["a"], notPrincipals: ["*"] } }] }] },
      "Cannot set serviceAccounts with namespaces or principals",
    ],
    [
      "AuthorizationPolicy",
      { action: "AUDIT", denyResponse: { status: 404 }, rules: [{}] },
      "`denyResponse` is for the",
    ],
    ["AuthorizationPolicy", { denyResponse: { status: 304 } }, "304 does not deny a request"],
    [
      "MeshService",
      { hosts: ["a"], rules: [{ match: [{ uri: {} }], ...{ route: [{ service: [{ host: "a" }] }] } }] },
      "exactly one of exact, prefix or regex must be set",
    ],
    [
      "MeshService",
      {
        hosts: ["a"],
        rules: [{ match: [{ headers: { a: { exact: "a", regex: "b" } } }], route: [{ service: [{ host: "a" }] }] }],
      },
      "exactly one of exact, prefix or regex must be set",
    ],
    [
      "MeshService",
      { hosts: ["a"], routes: [{ service: [{ host: "a", port: {} }] }] },
      "exactly one of name or number must be set",
    ],
    ["MeshService", split(0, 0), "all weights are zero"],
    ["MeshService", { hosts: ["a"], timeout: "2h" }, "must be a duration from 0s to 1h"],
    ["MeshService", { hosts: ["a"], timeout: "soon" }, "must be a duration from 0s to 1h"],
    [
      "MeshService",
      { hosts: ["a"], trafficPolicy: { connectionPool: { tcp: { connectTimeout: "0s" } } } },
      "must be a duration from 1ms to 1h",
    ],
    [
      "MeshService",
      { hosts: ["a"], trafficPolicy: { outlierDetection: { interval: "2h" } } },
      "must be a duration from 1ms to 1h",
    ],
    [
      "MeshService",
      { hosts: ["a"], retries: { attempts: 1, perTryTimeout: "0s" } },
      "must be a duration from 1ms to 1h",
    ],
  ] as const
  it.each(table)("%s %j", (kind, spec, message) => {
    const document = documentOf(kind, spec)
    expect(rejectedByCrd(kind, document).join("\n")).toContain(message)
    expect(validate(document, NAMES).errors).not.toEqual([])
  })

  it("and the table contains all of them", () => {
    const messages = CRDS.flatMap(crd => nodesOf(crd.spec.versions[0].schema.openAPIV3Schema))
      .flatMap(node => (node["x-kubernetes-validations"] ?? []) as readonly { message: string }[])
      .map(({ message }) => message)
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages)
      expect(
        table.some(([, , part]) => message.startsWith(part)),
        message,
      ).toBe(true)
  })
})

describe("the API server accepts everything that validate() accepts", () => {
  it.each(KINDS.map(definition => [definition.kind, definition] as const))("%s", (kind, definition) => {
    let accepted = 0
    fc.assert(
      fc.property(arbitrarySpec(definition), spec => {
        const document = documentOf(kind, spec)
        if (validate(document, NAMES).errors.length > 0) return
        accepted++
        expect(rejectedByCrd(kind, document)).toEqual([])
      }),
      { numRuns: 1_000 * inject("effort") },
    )
    // A property that is never exercised proves nothing.
    expect(accepted).toBeGreaterThan(50)
  })
})

it("serves every version with one schema, without defaults inside lists", () => {
  for (const { spec } of customResourceDefinitions(NAMES)) {
    expect(spec.versions.map(({ name, storage }) => [name, storage])).toEqual([
      ["v1alpha3", true],
      ["v1beta1", false],
      ["v1", false],
    ])
    expect(new Set(spec.versions.map(({ schema }) => JSON.stringify(schema))).size).toBe(1)
    expect(defaultsInLists(spec.versions[0].schema.openAPIV3Schema, false)).toEqual([])
  }
})

function defaultsInLists(node: unknown, inList: boolean): readonly unknown[] {
  if (typeof node !== "object" || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => {
    if (name === "default" && inList) return [value]
    return defaultsInLists(value, inList || name === "items")
  })
}

it("shows Ready and Holds in `kubectl get`", () => {
  for (const { spec } of CRDS) {
    const last = spec.names.kind === "PolicyInvariant" ? ["Holds", "Age"] : ["Enforced", "Ready", "Age"]
    for (const { additionalPrinterColumns } of spec.versions) {
      const shown = additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0).map(({ name }) => name)
      expect(shown.slice(-3), spec.names.kind).toEqual(last)
    }
  }
})
