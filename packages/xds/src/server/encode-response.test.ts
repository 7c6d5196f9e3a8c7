// SPDX-License-Identifier: Apache-2.0
import { create, toBinary } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { encodeDelta, encodeSotw } from "./encode-response.js"

const resource = fc.record({ name: fc.string(), version: fc.string(), value: fc.uint8Array({ maxLength: 300 }) })
const response = fc.record({
  typeUrl: fc.string(),
  nonce: fc.string(),
  revision: fc.nat(),
  resources: fc.array(resource, { maxLength: 4 }),
  removed: fc.array(fc.string(), { maxLength: 3 }),
})

it("writes the same bytes as the generated code, also the second time", () => {
  fc.assert(
    fc.property(response, fc.string(), (each, otherType) => {
      for (const typeUrl of [each.typeUrl, each.typeUrl, otherType]) {
        const { nonce, revision, resources, removed } = each
        const anyOf = (value: Uint8Array) => create(AnySchema, { typeUrl, value })
        const delta = create(DeltaDiscoveryResponseSchema, {
          typeUrl,
          nonce,
          systemVersionInfo: String(revision),
          resources: resources.map(({ name, version, value }) =>
            create(ResourceSchema, { name, version, resource: anyOf(value) }),
          ),
          removedResources: removed,
        })
        expect(Buffer.concat(encodeDelta({ ...each, typeUrl }))).toEqual(
          Buffer.from(toBinary(DeltaDiscoveryResponseSchema, delta)),
        )
        const sotw = create(DiscoveryResponseSchema, {
          typeUrl,
          nonce,
          versionInfo: String(revision),
          resources: resources.map(({ value }) => anyOf(value)),
        })
        expect(Buffer.concat(encodeSotw({ ...each, typeUrl }))).toEqual(
          Buffer.from(toBinary(DiscoveryResponseSchema, sotw)),
        )
      }
    }),
    { numRuns: 200 * inject("effort") },
  )
})

it("encodes responses that differ only in the nonce once", () => {
  const one = { name: "one", version: "1", value: Buffer.from("first") }
  const same = { typeUrl: "type", nonce: "1-7", revision: 7, resources: [one], removed: ["gone"] }
  const [head, , tail] = encodeDelta(same)
  const [again, , tailAgain] = encodeDelta({ ...same, nonce: "2-7", resources: [one], removed: ["gone"] })
  expect([again === head, tailAgain === tail]).toEqual([true, true])
  const others = [
    { typeUrl: "other" },
    { revision: 8 },
    { resources: [{ ...one }] },
    { resources: [one, one] },
    { resources: [] },
    { removed: ["other"] },
    { removed: [] },
  ]
  for (const other of others) {
    expect(encodeDelta(same)[0]?.equals(head ?? Buffer.alloc(0))).toBe(true)
    const response = { ...same, ...other }
    const before = Buffer.concat(encodeDelta(same))
    expect(Buffer.concat(encodeDelta(response)).equals(before)).toBe(
      "resources" in other && other.resources.length === 1,
    )
  }
  const nonce = "n".repeat(200)
  expect(Buffer.concat(encodeDelta({ ...same, nonce })).includes(nonce)).toBe(true)
})
