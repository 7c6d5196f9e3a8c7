// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { BACKDATE_MS } from "../authority/authority-keys.js"
import { renewAt } from "./renewal.js"
import { clampTtl } from "./ttl.js"

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe("the life of a workload's certificate", () => {
  it.each([
    [0, DAY],
    [-1, DAY],
    [HOUR, HOUR],
    [60_000, 60_000],
    [DAY, DAY],
  ])("asked for %i ms is %i ms", (requested, ttlMs) => {
    expect(clampTtl(requested)).toEqual({ ok: true, ttlMs })
  })

  it("is by default no longer than allowed", () => {
    expect(clampTtl(0, { defaultMs: DAY, maxMs: HOUR, minMs: 1 })).toEqual({ ok: true, ttlMs: HOUR })
  })

  it.each([
    [DAY + 1000, "a life of `86401 s` is longer than allowed; ask for at most 86400 s"],
    [59_000, "a life of `59 s` is shorter than allowed; ask for at least 60 s"],
    [Number.NaN, "longer than allowed"],
    [Number.POSITIVE_INFINITY, "longer than allowed"],
  ])("is not %i ms", (requested, message) => {
    expect(clampTtl(requested)).toEqual({ ok: false, message: expect.stringContaining(message) })
  })
})

describe("renewal", () => {
  it.each([
    [0.5, 12 * HOUR],
    [0, 12 * HOUR - 0.01 * DAY],
    [1, 12 * HOUR + 0.01 * DAY],
  ])("of a day's certificate with chance %f is due after %i ms", (random, after) => {
    const now = 1_000_000
    expect(renewAt({ notBefore: now - BACKDATE_MS, notAfter: now + DAY }, () => random)).toBe(now + after)
  })

  it("is due within the life and never without a pause, however short the life", () => {
    const moment = fc.integer({ min: 0, max: 2 ** 42 })
    fc.assert(
      fc.property(
        moment,
        fc.integer({ min: 1000, max: 90 * DAY }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (now, ttl, chance) => {
          const at = renewAt({ notBefore: now - BACKDATE_MS, notAfter: now + ttl }, () => chance)
          expect(at - now).toBeGreaterThanOrEqual(5_000)
          if (ttl > 20_000) expect(at - now).toBeLessThan(ttl * 0.52)
        },
      ),
    )
  })

  it("of a certificate that others made without dating it back is due within its life", () => {
    fc.assert(
      fc.property(fc.integer({ min: 20_000, max: DAY }), life => {
        expect(renewAt({ notBefore: 0, notAfter: life }, () => 1)).toBeLessThan(life)
      }),
    )
  })
})
