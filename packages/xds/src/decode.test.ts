// SPDX-License-Identifier: Apache-2.0
import { create, toBinary } from "@bufbuild/protobuf"
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { decodeProxyResource } from "./decode.js"
import { encodeProxyResource } from "./encode.js"
import { ProxyResourceSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import { MalformedResource } from "./malformed-resource.js"
import type { ProxyResource, WorkloadSpec } from "./proxy-resource.js"

const WORKLOAD: WorkloadSpec = {
  mesh: {
    mesh: "merlon",
    domain: "merlon.dev",
    trustDomain: "cluster.local",
    trustDomainAliases: ["old.local"],
    pathNormalization: "BASE",
    numTrustedProxies: 0,
    providers: [],
  },
  namespace: "foo",
  name: "httpbin-1",
  serviceAccount: "httpbin",
  labels: { app: "httpbin" },
  services: ["httpbin"],
  ports: [
    {
      port: 8080,
      listen: 15080,
      protocol: "http",
      upstreamProtocol: "http/1.1",
      serviceNames: ["httpbin.foo"],
      upgrades: ["spdy/3.1"],
    },
  ],
  probes: { "/ready": { kind: "http", port: 8080, path: "/ok", headers: { host: "x" }, timeoutMs: 1_000 } },
}

const RESOURCES: readonly ProxyResource[] = [
  { kind: "workload", workload: WORKLOAD },
  { kind: "policy", document: { kind: "AuthorizationPolicy", spec: { rules: [{}] } } },
  { kind: "keySet", keySet: { id: "issuer", jwks: '{"keys":[]}' } },
  { kind: "trust", trust: { bundle: "PEM", signer: "ab", revokedIdentities: ["spiffe://x"], revokedSerials: ["0A"] } },
]

const bytesOf = (kind: "workload" | "policy" | "keySet" | "trust", value: string) =>
  toBinary(ProxyResourceSchema, create(ProxyResourceSchema, { content: { case: kind, value } }))

test.each(RESOURCES.map(resource => [resource.kind, resource] as const))(
  "a %s is decoded as it was encoded",
  (_, resource) => {
    expect(decodeProxyResource(encodeProxyResource(resource))).toEqual(resource)
  },
)

it("ignores fields of a newer control plane", () => {
  const newer = { ...WORKLOAD, colour: "blue", mesh: { ...WORKLOAD.mesh, mood: 1 } }
  expect(decodeProxyResource(bytesOf("workload", JSON.stringify(newer)))).toEqual({
    kind: "workload",
    workload: WORKLOAD,
  })
})

it("reads a port from an older control plane as one without extra upgrades", () => {
  const portsAllowing = (upgrades?: readonly string[]) => WORKLOAD.ports.map(port => ({ ...port, upgrades }))
  const older = { ...WORKLOAD, ports: portsAllowing(undefined) }
  expect(decodeProxyResource(bytesOf("workload", JSON.stringify(older)))).toEqual({
    kind: "workload",
    workload: { ...WORKLOAD, ports: portsAllowing([]) },
  })
})

describe("rejects, naming the field,", () => {
  const [port] = WORKLOAD.ports
  test.each<[string, Uint8Array, RegExp]>([
    ["bytes that are not a message", Buffer.from([0xff, 0xff, 0xff]), /not a ProxyResource/],
    ["an unknown kind", new Uint8Array(), /does not know/],
    ["invalid JSON", bytesOf("trust", "{"), /^trust: is not JSON/],
    ["a list for a document", bytesOf("policy", "[]"), /^policy: the value: must be a mapping/],
    ["null for a document", bytesOf("policy", "null"), /must be a mapping/],
    [
      "a missing field",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, namespace: undefined })),
      /^workload: namespace: .*missing/,
    ],
    [
      "an invalid port",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, ports: [{ ...port, listen: 70_000 }] })),
      /^workload: ports\[0\]\.listen: must be a whole number/,
    ],
    [
      "a string instead of a list of upgrades",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, ports: [{ ...port, upgrades: "spdy" }] })),
      /^workload: ports\[0\]\.upgrades: must be a list/,
    ],
    [
      "an unknown protocol",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, ports: [{ ...port, protocol: "smtp" }] })),
      /ports\[0\]\.protocol: must be one of http, tcp, auto/,
    ],
    [
      "an unknown path normalization, which could evaluate other paths than intended",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, mesh: { ...WORKLOAD.mesh, pathNormalization: "SOME" } })),
      /mesh\.pathNormalization/,
    ],
    [
      "a label that is not a string",
      bytesOf("workload", JSON.stringify({ ...WORKLOAD, labels: { a: 1 } })),
      /labels\.a/,
    ],
    [
      "a revocation that is not a string",
      bytesOf("trust", '{"bundle":"","signer":"","revokedIdentities":[1],"revokedSerials":[]}'),
      /revokedIdentities\[0\]/,
    ],
  ])("%s", (_, bytes, message) => {
    expect(() => decodeProxyResource(bytes)).toThrow(message)
  })
})

it("parses any bytes or rejects them as malformed", () => {
  const outcome = (bytes: Uint8Array) => {
    try {
      return decodeProxyResource(bytes).kind
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedResource)
      return "rejected"
    }
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => void outcome(bytes)),
    { numRuns: 2_000 * inject("effort") },
  )
  const kinds = fc.constantFrom("workload", "policy", "keySet", "trust")
  fc.assert(
    fc.property(kinds, fc.json(), (kind, json) => void outcome(bytesOf(kind as "trust", json))), // one of the four kinds
    { numRuns: 2_000 * inject("effort") },
  )
  const whole = encodeProxyResource({ kind: "workload", workload: WORKLOAD })
  const flips = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) })
  fc.assert(
    fc.property(fc.array(flips, { minLength: 1, maxLength: 4 }), edits => {
      const bytes = Uint8Array.from(whole)
      for (const { at, to } of edits) bytes[at] = to
      outcome(bytes)
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})
