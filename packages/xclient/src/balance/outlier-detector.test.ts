// SPDX-License-Identifier: Apache-2.0
import type { OutlierDetectionSpec, ServiceEndpoint } from "@merlon/xds"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { EndpointBalancer } from "./endpoint-balancer.js"
import { EndpointHealth } from "./endpoint-health.js"
import { type Ejection, type EndpointOutcome, OutlierDetector } from "./outlier-detector.js"

const endpoint = (address: string, healthy = true): ServiceEndpoint => ({
  ...{ address, port: 80, healthy, workload: `app/${address}`, mtlsMode: "STRICT" as const },
})
const [A, B, C] = [endpoint("a"), endpoint("b"), endpoint("c")]

class Play {
  now = 0
  readonly ejections: Ejection[] = []
  readonly detector: OutlierDetector
  readonly endpoints: readonly ServiceEndpoint[]

  constructor(spec: OutlierDetectionSpec, endpoints: readonly ServiceEndpoint[] = [A, B, C]) {
    this.endpoints = endpoints
    this.detector = new OutlierDetector(
      () => this.now,
      ejection => this.ejections.push(ejection),
    )
    this.detector.update(spec, endpoints)
  }

  notify(one: ServiceEndpoint, ...outcomes: EndpointOutcome[]): this {
    for (const outcome of outcomes) this.detector.record(one, outcome, this.endpoints)
    return this
  }

  get ejected(): string {
    return this.endpoints
      .filter(one => this.detector.isEjected(one))
      .map(one => one.address)
      .join()
  }
}

describe("an endpoint is ejected", () => {
  it.each<[string, OutlierDetectionSpec, EndpointOutcome[], string]>([
    ["after five errors by default", {}, ["5xx", "gateway", "5xx", "5xx", "gateway"], "a"],
    ["not after four", {}, ["5xx", "5xx", "5xx", "5xx"], ""],
    ["not if one of them was a success", {}, ["5xx", "5xx", "success", "5xx", "5xx", "5xx"], ""],
    ["not if that is turned off", { consecutive5xxErrors: 0 }, Array<EndpointOutcome>(50).fill("gateway"), ""],
    ["after gateway errors only", { consecutiveGatewayErrors: 2 }, ["gateway", "gateway"], "a"],
    ["not if another error came between", { consecutiveGatewayErrors: 2 }, ["gateway", "5xx", "gateway"], ""],
    ["never if the allowed share is zero", { maxEjectionPercent: 0, consecutive5xxErrors: 1 }, ["5xx", "5xx"], ""],
  ])("%s", (_, spec, outcomes, ejected) => {
    expect(new Play(spec).notify(A, ...outcomes).ejected).toBe(ejected)
  })

  it("with the limit as the reason", () => {
    const spec = { consecutive5xxErrors: 3, consecutiveGatewayErrors: 2 }
    expect(new Play(spec).notify(A, "5xx", "5xx", "5xx").ejections).toEqual([
      { endpoint: A, reason: "consecutive-5xx", forMs: 30_000 },
    ])
    expect(new Play(spec).notify(A, "gateway", "gateway").ejections).toMatchObject([{ reason: "consecutive-gateway" }])
  })

  it("for longer each time, up to five minutes", () => {
    const play = new Play({ consecutive5xxErrors: 1, baseEjectionMs: 100_000, intervalMs: 3_600_000 })
    for (const until of [100_000, 300_000, 600_000, 900_000]) {
      play.notify(A, "5xx")
      play.now = until - 1
      expect(play.ejected).toBe("a")
      play.now = until
      expect(play.ejected).toBe("")
    }
  })

  it("for a shorter time again after good intervals", () => {
    const play = new Play({ consecutive5xxErrors: 1, baseEjectionMs: 1_000, intervalMs: 10_000 })
    play.notify(A, "5xx")
    play.now = 10_999
    play.notify(A, "5xx")
    expect(play.ejections.at(-1)?.forMs).toBe(2_000)
    play.now = 12_999 + 10_000
    play.notify(A, "5xx")
    expect(play.ejections.at(-1)?.forMs).toBe(2_000)
    play.now = 24_999 + 20_000
    play.notify(A, "5xx")
    expect(play.ejections.at(-1)?.forMs).toBe(1_000)
  })

  it("but never the last one that is ready", () => {
    const spec = { consecutive5xxErrors: 1, maxEjectionPercent: 100 }
    const play = new Play(spec, [A, B, endpoint("c", false)])
    expect(play.notify(A, "5xx").notify(B, "5xx", "5xx").ejected).toBe("a")
    expect(new Play(spec, [A]).notify(A, "5xx").ejected).toBe("")
  })

  it("at least one, then up to the share", () => {
    const ten = Array.from({ length: 10 }, (_, index) => endpoint(`e${index}`))
    const play = new Play({ consecutive5xxErrors: 1, maxEjectionPercent: 25 }, ten)
    for (const one of ten) play.notify(one, "5xx")
    expect(play.ejected).toBe("e0,e1")
    const few = new Play({ consecutive5xxErrors: 1 })
    expect(few.notify(A, "5xx").notify(B, "5xx").ejected).toBe("a")
  })

  it("and stays so when an update brings it again, but not after it was removed", () => {
    const play = new Play({ consecutive5xxErrors: 1 }).notify(A, "5xx")
    play.detector.update({ consecutive5xxErrors: 1 }, [{ ...A }, B])
    expect(play.ejected).toBe("a")
    play.detector.update({ consecutive5xxErrors: 1 }, [B])
    play.detector.update({ consecutive5xxErrors: 1 }, [A, B])
    expect(play.ejected).toBe("")
  })
})

describe("the balancer", () => {
  const chosen = (play: Play) => {
    const turn = () => new EndpointBalancer("RANDOM").next(play.endpoints, new EndpointHealth(), play.detector)
    return new Set(Array.from({ length: 100 }, () => turn().endpoints.at(0)?.address))
  }

  it("skips ejected endpoints", () => {
    expect(chosen(new Play({ consecutive5xxErrors: 1 }).notify(A, "5xx"))).toEqual(new Set(["b", "c"]))
  })

  it("calls them again if too few are left", () => {
    const spec = { consecutive5xxErrors: 1, minHealthPercent: 67 }
    expect(chosen(new Play(spec).notify(A, "5xx"))).toEqual(new Set(["a", "b", "c"]))
    expect(chosen(new Play({ ...spec, minHealthPercent: 66 }).notify(A, "5xx"))).toEqual(new Set(["b", "c"]))
  })
})

/** A reference detector, which checks all endpoints at every millisecond. */
class NaiveDetector {
  readonly #spec: Required<OutlierDetectionSpec>
  readonly states: { in: boolean; left: number; good: number; times: number; history: EndpointOutcome[] }[]

  constructor(spec: Required<OutlierDetectionSpec>, count: number) {
    this.#spec = spec
    this.states = Array.from({ length: count }, () => ({ in: true, left: 0, good: 0, times: 0, history: [] }))
  }

  tick(): void {
    for (const state of this.states) {
      if (!state.in) {
        state.left -= 1
        if (state.left === 0) Object.assign(state, { in: true, good: 0 })
      } else {
        state.good += 1
        if (state.good % this.#spec.intervalMs === 0) state.times = Math.max(0, state.times - 1)
      }
    }
  }

  record(index: number, outcome: EndpointOutcome): void {
    const state = this.states[index]
    if (state === undefined || !state.in) return
    state.history.push(outcome)
    const { consecutive5xxErrors: most, consecutiveGatewayErrors: gateways } = this.#spec
    const last = (count: number) => state.history.slice(-count)
    const is5xx = most > 0 && state.history.length >= most && last(most).every(one => one !== "success")
    const isGateway = gateways > 0 && state.history.length >= gateways && last(gateways).every(one => one === "gateway")
    if (!is5xx && !isGateway) return
    const out = this.states.filter(one => !one.in).length
    const share = ((out + 1) / this.states.length) * 100
    const { maxEjectionPercent: percent } = this.#spec
    if (percent === 0 || out + 1 === this.states.length || (out > 0 && share > percent)) return
    state.times += 1
    const left = Math.min(state.times * this.#spec.baseEjectionMs, Math.max(this.#spec.baseEjectionMs, 300_000))
    Object.assign(state, { in: false, left, history: [] })
  }
}

it("agrees with a detector that checks every millisecond", () => {
  const step = fc.oneof(
    fc.record({ wait: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ at: fc.nat({ max: 5 }), outcome: fc.constantFrom<EndpointOutcome>("success", "5xx", "gateway") }),
  )
  const spec = fc.record({
    consecutive5xxErrors: fc.nat({ max: 3 }),
    consecutiveGatewayErrors: fc.nat({ max: 3 }),
    intervalMs: fc.integer({ min: 1, max: 30 }),
    baseEjectionMs: fc.integer({ min: 1, max: 20 }),
    maxEjectionPercent: fc.constantFrom(0, 1, 20, 40, 50, 75, 100),
    minHealthPercent: fc.constant(0),
  })
  let ejections = 0
  fc.assert(
    fc.property(spec, fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 150 }), (received, count, steps) => {
      const endpoints = Array.from({ length: count }, (_, index) => endpoint(`e${index}`))
      const play = new Play(received, endpoints)
      const naive = new NaiveDetector(received, count)
      for (const one of steps) {
        if ("wait" in one) {
          play.now += one.wait
          for (let ms = 0; ms < one.wait; ms++) naive.tick()
        } else {
          play.notify(endpoints[one.at % count] ?? A, one.outcome)
          naive.record(one.at % count, one.outcome)
        }
        expect(endpoints.map(each => play.detector.isEjected(each))).toEqual(naive.states.map(state => !state.in))
      }
      ejections += play.ejections.length
    }),
    { numRuns: 300 },
  )
  expect(ejections).toBeGreaterThan(0)
})
