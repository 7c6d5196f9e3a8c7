// SPDX-License-Identifier: Apache-2.0
import type { ServiceEndpoint } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { EndpointHealth } from "./endpoint-health.js"
import { EndpointRotation } from "./endpoint-rotation.js"

function endpoint(address: string, healthy = true): ServiceEndpoint {
  return { address, port: 80, healthy, workload: `app/${address}`, mtlsMode: undefined }
}

const A = endpoint("a")
const B = endpoint("b")
const SICK = endpoint("s", false)

function firsts(endpoints: readonly ServiceEndpoint[], health: EndpointHealth, turns: number): readonly string[] {
  const rotation = new EndpointRotation()
  return Array.from({ length: turns }, () => rotation.next(endpoints, health).endpoints[0]?.address ?? "none")
}

describe("turns", () => {
  it("go round the healthy ones", () => {
    expect(firsts([A, B, SICK], new EndpointHealth(), 4)).toEqual(["a", "b", "a", "b"])
  })

  it("name those to try next", () => {
    const rotation = new EndpointRotation()
    rotation.next([A, B], new EndpointHealth())
    expect(rotation.next([A, B], new EndpointHealth()).endpoints).toEqual([B, A])
  })

  it("go to all where none is healthy, and say so", () => {
    const turn = new EndpointRotation().next([SICK], new EndpointHealth())
    expect(turn).toEqual({ endpoints: [SICK], panic: true })
  })

  it("lead nowhere without endpoints", () => {
    expect(new EndpointRotation().next([], new EndpointHealth())).toEqual({ endpoints: [], panic: false })
  })
})

describe("an endpoint that cannot be reached", () => {
  it("is left out for a second, then for longer, and forgiven when it answers", () => {
    let now = 0
    const health = new EndpointHealth(() => now)
    health.failed(A)
    expect(health.isEjected(A)).toBe(true)
    now = 1_000
    expect(health.isEjected(A)).toBe(false)
    health.failed(A)
    now = 2_500
    expect(health.isEjected(A)).toBe(true)
    health.succeeded(A)
    expect(health.isEjected(A)).toBe(false)
    health.failed(A)
    now = 3_500
    expect(health.isEjected(A)).toBe(false)
  })

  it("is not called while another one is there", () => {
    const health = new EndpointHealth(() => 0)
    health.failed(A)
    expect(firsts([A, B], health, 3)).toEqual(["b", "b", "b"])
  })

  it("is called again where all fail", () => {
    const health = new EndpointHealth(() => 0)
    health.failed(A)
    health.failed(B)
    expect(new EndpointRotation().next([A, B], health).panic).toBe(true)
  })
})
