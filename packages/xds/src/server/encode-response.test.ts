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

it("is byte for byte what the generated code would write, also the second time", () => {
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
        expect(encodeDelta({ ...each, typeUrl }).equals(toBinary(DeltaDiscoveryResponseSchema, delta))).toBe(true)
        const sotw = create(DiscoveryResponseSchema, {
          typeUrl,
          nonce,
          versionInfo: String(revision),
          resources: resources.map(({ value }) => anyOf(value)),
        })
        expect(encodeSotw({ ...each, typeUrl }).equals(toBinary(DiscoveryResponseSchema, sotw))).toBe(true)
      }
    }),
    { numRuns: 200 * inject("effort") },
  )
})
