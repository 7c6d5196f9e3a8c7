// SPDX-License-Identifier: Apache-2.0
import { LOAD_BALANCERS, type LoadBalancer, type ServiceEndpoint } from "@merlon/xds"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { EndpointBalancer } from "./endpoint-balancer.js"
import { EndpointHealth } from "./endpoint-health.js"
import type { EndpointOrder } from "./endpoint-order.js"

function endpoint(address: string, healthy = true): ServiceEndpoint {
  return { address, port: 80, healthy, workload: `app/${address}`, mtlsMode: undefined }
}

const A = endpoint("a")
const B = endpoint("b")
const SICK = endpoint("s", false)

function listOf(order: EndpointOrder): readonly (ServiceEndpoint | undefined)[] {
  return Array.from({ length: order.length }, (_, index) => order.at(index))
}

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed | 1
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x6d2b_79f5
    return ((state ^ (state >>> 14)) >>> 0) / 4_294_967_296
  }
}

const balancer = (kind: LoadBalancer, now = () => 0, seed = 1) =>
  new EndpointBalancer(kind, { random: numbers(seed), now })

function firsts(endpoints: readonly ServiceEndpoint[], health: EndpointHealth, turns: number, kind: LoadBalancer) {
  const it = balancer(kind)
  return Array.from({ length: turns }, () => it.next(endpoints, health).endpoints.at(0)?.address ?? "none")
}

describe.each(["ROUND_ROBIN", "LEAST_REQUEST"] as const)("%s", kind => {
  it("alternates between two idle endpoints, and skips one that is not healthy", () => {
    expect(firsts([A, B, SICK], new EndpointHealth(), 4, kind)).toEqual(["a", "b", "a", "b"])
  })

  it("lists the endpoints to try next", () => {
    const it = balancer(kind)
    it.next([A, B], new EndpointHealth())
    expect(it.next([A, B], new EndpointHealth()).endpoints.length).toBe(2)
  })
})

describe.each(LOAD_BALANCERS)("%s", kind => {
  it("chooses among all endpoints if none is healthy, and reports that", () => {
    const turn = balancer(kind).next([SICK], new EndpointHealth())
    expect(listOf(turn.endpoints)).toEqual([SICK])
    expect(turn.panic).toBe(true)
  })

  it("chooses nothing without endpoints", () => {
    const { endpoints, panic } = balancer(kind).next([], new EndpointHealth())
    expect([endpoints.length, endpoints.at(0), panic]).toEqual([0, undefined, false])
  })

  it("never picks an ejected or unhealthy endpoint while another is left", () => {
    const flags = fc.array(fc.record({ healthy: fc.boolean(), ejected: fc.boolean() }), { maxLength: 20 })
    fc.assert(
      fc.property(flags, fc.integer(), fc.integer({ min: 1, max: 30 }), (all, seed, turns) => {
        const health = new EndpointHealth(() => 0)
        const endpoints = all.map(({ healthy }, index) => endpoint(`e${index}`, healthy))
        all.forEach(({ ejected }, index) => {
          const one = endpoints[index]
          if (ejected && one !== undefined) health.failed(one)
        })
        const usable = endpoints.filter((one, index) => one.healthy && all[index]?.ejected === false)
        const expected = usable.length === 0 ? endpoints : usable
        const it = balancer(kind, undefined, seed)
        for (let turn = 0; turn < turns; turn++) {
          const { endpoints: order, panic } = it.next(endpoints, health)
          const listed = listOf(order)
          expect(new Set(listed).size).toBe(listed.length)
          expect(listed.length).toBe(Math.min(expected.length, 11))
          expect(listed.every(one => one !== undefined && expected.includes(one))).toBe(true)
          expect(panic).toBe(usable.length === 0 && endpoints.length > 0)
        }
      }),
    )
  })

  it("leaves no endpoint without requests", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer(), (count, seed) => {
        const endpoints = Array.from({ length: count }, (_, index) => endpoint(`e${index}`))
        const health = new EndpointHealth()
        const it = balancer(kind, undefined, seed)
        const chosen = new Set(Array.from({ length: 400 }, () => it.next(endpoints, health).endpoints.at(0)))
        expect(chosen.size).toBe(count)
      }),
      { numRuns: 50 },
    )
  })
})

describe("ROUND_ROBIN", () => {
  it("tries the others in turn, and begins again after the last", () => {
    const endpoints = ["a", "b", "c", "d"].map(name => endpoint(name))
    const it = balancer("ROUND_ROBIN")
    const orders = endpoints.map(() => listOf(it.next(endpoints, new EndpointHealth()).endpoints))
    expect(orders.map(order => order.map(one => one?.address).join(""))).toEqual(["abcd", "bcda", "cdab", "dabc"])
  })
})

describe("LEAST_REQUEST", () => {
  it("chooses no second endpoint before it is needed", () => {
    let draws = 0
    const random = () => {
      draws += 1
      return 0.5
    }
    const endpoints = Array.from({ length: 20 }, (_, index) => endpoint(`e${index}`))
    const { endpoints: order } = new EndpointBalancer("LEAST_REQUEST", { random, now: () => 0 }).next(
      endpoints,
      new EndpointHealth(),
    )
    order.at(0)
    expect(draws).toBe(2)
    order.at(0)
    order.at(1)
    expect(draws).toBe(4)
  })

  it("agrees with a naive comparison of the two that were drawn", () => {
    const loads = fc.array(
      fc.record({ outstanding: fc.nat({ max: 20 }), latency: fc.option(fc.integer({ min: 2, max: 500 })) }),
      { minLength: 2, maxLength: 12 },
    )
    fc.assert(
      fc.property(loads, fc.integer(), (all, seed) => {
        const health = new EndpointHealth()
        const endpoints = all.map((_, index) => endpoint(`e${index}`))
        const costs = all.map(({ outstanding, latency }, index) => {
          const { load } = health.stateOf(endpoints[index] ?? A)
          load.outstanding = outstanding
          if (latency !== null) load.answered(latency, 1_000)
          return (latency ?? (outstanding > 0 ? 30 : 1)) * (outstanding + 1)
        })
        const random = numbers(seed)
        const one = Math.floor(random() * all.length)
        const drawn = Math.floor(random() * (all.length - 1))
        const pair = [one, drawn < one ? drawn : drawn + 1].sort((a, b) => a - b)
        const [first = 0, second = 0] = pair
        const better = (costs[second] ?? 0) < (costs[first] ?? 0) ? second : first
        const it = balancer("LEAST_REQUEST", () => 1_000, seed)
        expect(it.next(endpoints, health).endpoints.at(0)).toBe(endpoints[better])
      }),
    )
  })

  it("sends few requests to an endpoint that holds them", () => {
    const health = new EndpointHealth()
    const endpoints = [A, B, endpoint("c")]
    const it = balancer("LEAST_REQUEST")
    const counts = new Map<string, number>()
    for (let turn = 0; turn < 300; turn++) {
      const first = it.next(endpoints, health).endpoints.at(0) ?? A
      counts.set(first.address, (counts.get(first.address) ?? 0) + 1)
      const { load } = health.stateOf(first)
      if (first === A) load.outstanding += 1
      else load.answered(5, 0)
    }
    expect(counts.get("a")).toBeLessThan(10)
  })

  it("prefers the faster endpoint, and tries a slow one again after a while", () => {
    let now = 1
    const health = new EndpointHealth()
    const it = balancer("LEAST_REQUEST", () => now)
    health.stateOf(A).load.answered(500, now)
    health.stateOf(B).load.answered(5, now)
    for (let turn = 0; turn < 20; turn++) expect(it.next([A, B], health).endpoints.at(0)).toBe(B)
    for (; now < 60_000; now += 1_000) health.stateOf(B).load.answered(5, now)
    expect(it.next([A, B], health).endpoints.at(0)).toBe(A)
  })

  it("does not favour an endpoint that fails fast", () => {
    const health = new EndpointHealth()
    const it = balancer("LEAST_REQUEST", () => 1)
    for (const one of [A, B]) health.stateOf(one).load.answered(20, 1)
    const before = health.stateOf(A).load.cost(1)
    health.stateOf(A).load.unanswered(1, 1)
    expect(health.stateOf(A).load.cost(1)).toBe(before)
    expect(it.next([A, B], health).endpoints.length).toBe(2)
  })
})

describe("an endpoint that cannot be reached", () => {
  it("is skipped for a second, then for longer, and forgiven when it answers", () => {
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

  it("stays skipped when an update brings the same endpoint again", () => {
    const health = new EndpointHealth(() => 0)
    health.failed(A)
    expect(health.isEjected({ ...A })).toBe(true)
  })

  it("is called again if all fail", () => {
    const health = new EndpointHealth(() => 0)
    health.failed(A)
    health.failed(B)
    expect(balancer("LEAST_REQUEST").next([A, B], health).panic).toBe(true)
  })
})
