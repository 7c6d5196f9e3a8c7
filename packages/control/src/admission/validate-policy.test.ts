// SPDX-License-Identifier: Apache-2.0
import { meshConfig, meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { question } from "./testing/requests.js"
import { validatePolicy } from "./validate-policy.js"

const MESHES = [
  ["merlon", "merlon.dev"],
  ["dubbo", "dubbo.apache.org"],
] as const

describe.each(MESHES)("validation in the mesh %s", (word, domain) => {
  const names = meshNames({ mesh: word, domain })
  const mesh = meshConfig({ names })
  const clusterDomain = "cluster.local"
  const document = (kind: string, spec: unknown, metadata: object = {}) => ({
    apiVersion: `${kind === "MeshService" ? names.networkingGroup : names.securityGroup}/v1alpha3`,
    kind,
    metadata: { name: "one", namespace: "foo", ...metadata },
    spec,
  })
  const relative = document("RequestAuthentication", { jwtRules: [{ issuer: "i", jwksUri: "/keys" }] })

  it.each<[string, unknown]>([
    ["RequestAuthentication", { jwtRules: [{ issuer: "https://i", jwksUri: "https://i/keys" }] }],
    ["AuthorizationPolicy", { action: "DENY", rules: [{ to: [{ operation: { ports: ["8080"] } }] }] }],
    ["PeerAuthentication", { mtls: { mode: "STRICT" } }],
    ["MeshService", { hosts: ["web"], routes: [{ service: [{ host: "web", name: "v1" }] }] }],
  ])("accepts a valid %s", (kind, spec) => {
    expect(validatePolicy(question(document(kind, spec)), { mesh, clusterDomain }).rejected).toBeUndefined()
  })

  it("rejects with one cause per field, in the wording of other meshes", () => {
    const two = document("AuthorizationPolicy", { action: "NOPE", rulez: [] })
    expect(validatePolicy(question(two), { mesh, clusterDomain }).rejected).toMatchObject({
      code: 422,
      reason: "Invalid",
      message: expect.stringMatching(/^invalid policy one\.foo: spec\.(action|rulez): /),
      details: {
        name: "one",
        group: names.securityGroup,
        kind: "AuthorizationPolicy",
        causes: expect.arrayContaining([
          { field: "spec.action", reason: "FieldValueNotSupported", message: expect.any(String) },
          { field: "spec.rulez", reason: "FieldValueInvalid", message: expect.stringContaining("`rules`") },
        ]),
      },
    })
    expect(validatePolicy(question(relative), { mesh, clusterDomain }).rejected?.details?.causes).toEqual([
      expect.objectContaining({ field: "spec.jwtRules[0].jwksUri" }),
    ])
  })

  it.each<[string, string, unknown, string]>([
    [
      "path templates",
      "AuthorizationPolicy",
      {
        rules: [
          { to: [{ operation: { paths: Array.from({ length: 400 }, (_, n) => `/${n}${"/{*}".repeat(400)}`) } }] },
        ],
      },
      "spec.rules[0]",
    ],
    [
      "nested repetitions",
      "MeshService",
      {
        hosts: ["web"],
        rules: [
          {
            match: [{ uri: { regex: "(((a{1,60}){1,60}){1,60}){1,60}" } }],
            routes: [{ service: [{ host: "web", name: "v1" }] }],
          },
        ],
      },
      "regex",
    ],
  ])("rejects %s that do not compile", (_, kind, spec, field) => {
    expect(validatePolicy(question(document(kind, spec)), { mesh, clusterDomain }).rejected).toMatchObject({
      code: 422,
      details: { causes: [{ field: expect.stringContaining(field), reason: "FieldValueTooLong" }] },
    })
  })

  it("never blocks a change without a change of meaning", () => {
    const allowed = (object: object, request: object): boolean =>
      validatePolicy(question(object, { operation: "UPDATE", oldObject: relative, ...request }), {
        mesh,
        clusterDomain,
      }).rejected === undefined
    const { metadata } = relative
    expect(allowed(relative, { operation: "DELETE" })).toBe(true)
    expect(allowed({ ...relative, metadata: { ...metadata, finalizers: ["x"] } }, {})).toBe(true)
    expect(allowed({ ...relative, status: { conditions: [] } }, {})).toBe(true)
    expect(
      allowed({ ...relative, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: {} }, {}),
    ).toBe(true)
    expect(allowed(relative, { subresource: "status", operation: "UPDATE" })).toBe(true)
    expect(allowed({ ...relative, sepc: {} }, {})).toBe(false)
    expect(allowed(document("RequestAuthentication", { jwtRules: [{ issuer: "j", jwksUri: "/keys" }] }), {})).toBe(
      false,
    )
  })

  it("reports the error of a stored document that is not in effect", () => {
    const answer = validatePolicy(question(relative, { operation: "UPDATE", oldObject: relative }), {
      mesh,
      clusterDomain,
    })
    expect(answer.warnings).toEqual([expect.stringMatching(/stored but not enforced: spec\.jwtRules\[0\]\.jwksUri/)])
  })

  it("accepts a name that will be generated", () => {
    const { name: _, ...rest } = relative.metadata
    const valid = {
      ...document("PeerAuthentication", { mtls: { mode: "STRICT" } }),
      metadata: { ...rest, generateName: "pa-" },
    }
    expect(validatePolicy(question(valid, { name: "" }), { mesh, clusterDomain }).rejected).toBeUndefined()
  })

  it.each([
    ["another group", { apiVersion: "security.example.com/v1", kind: "PeerAuthentication" }],
    ["another kind", { apiVersion: `${names.securityGroup}/v1alpha3`, kind: "Pod" }],
    ["one of ours in the wrong group", { apiVersion: `${names.securityGroup}/v1alpha3`, kind: "MeshService" }],
  ])("rejects %s as not validated here", (_, object) => {
    expect(validatePolicy(question(object), { mesh, clusterDomain }).rejected).toMatchObject({ code: 400 })
  })

  describe("warnings", () => {
    it("name the callers that a MeshService for another namespace's host affects", () => {
      const routes = document("MeshService", { hosts: ["web.app", "mine"] })
      expect(validatePolicy(question(routes), { mesh, clusterDomain }).warnings).toEqual([
        expect.stringContaining("`web.app` is not in the namespace `foo`, so this affects only callers in `foo`"),
      ])
    })

    it("come from the document itself", () => {
      const { warnings } = validatePolicy(question(document("PeerAuthentication", undefined)), { mesh, clusterDomain })
      expect(warnings).toEqual([expect.stringContaining("`spec` is missing and read as empty")])
    })
  })
})
