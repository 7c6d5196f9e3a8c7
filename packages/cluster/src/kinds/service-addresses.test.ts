// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest"
import { Entry } from "../store/store.js"
import type { JsonObject } from "../value.js"
import { allocateAddresses } from "./service-addresses.js"

const entry = (key: string, spec: JsonObject): Entry => new Entry(key, JSON.stringify({ spec }), 1, 1)
const ports = (count: number): JsonObject[] => Array.from({ length: count }, (_, i) => ({ port: i + 1 }))
const PORTS = 2768
const ADDRESSES = 32767

describe("a full range", () => {
  it("allocates the last node port and rejects the next", () => {
    const service: JsonObject = { spec: { type: "NodePort", ports: ports(PORTS) } }
    expect(allocateAddresses(service, "a", [], Math.random)).toEqual([])
    const next: JsonObject = { spec: { type: "NodePort", ports: ports(1) } }
    const others = [entry("a", service.spec as JsonObject)]
    expect(allocateAddresses(next, "b", others, Math.random)).toMatchObject([
      { field: "spec.ports[0].nodePort", detail: "failed to allocate a nodePort: range is full" },
    ])
  })

  it("rejects a Service that needs more ports than are free", () => {
    const service: JsonObject = { spec: { type: "NodePort", ports: ports(PORTS + 2) } }
    expect(allocateAddresses(service, "a", [], Math.random)).toHaveLength(2)
  })

  it("rejects a Service when no address is free", () => {
    const clusterIPs = Array.from({ length: ADDRESSES }, (_, i) => `10.0.${128 + (i >> 8)}.${i & 255}`)
    const service: JsonObject = { spec: { type: "ClusterIP" } }
    expect(allocateAddresses(service, "b", [entry("a", { clusterIPs })], Math.random)).toMatchObject([
      { field: "spec.clusterIPs", detail: "failed to allocate a serviceIP: range is full" },
    ])
    expect(allocateAddresses(service, "b", [entry("a", { clusterIPs: clusterIPs.slice(1) })], Math.random)).toEqual([])
    expect(service.spec).toMatchObject({ clusterIP: "10.0.128.0" })
  })
})
