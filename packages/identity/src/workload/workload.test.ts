// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { BACKDATE_MS } from "../authority/authority-keys.js"
import { renewAt } from "./renewal.js"
import { clampTtl } from "./ttl.js"

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe("the lifetime of a workload's certificate", () => {
  it.each([
    [0, DAY],
    [-1, DAY],
    [HOUR, HOUR],
    [60_000, 60_000],
    [DAY, DAY],
  ])("requested as %i ms is %i ms", (requested, ttlMs) => {
    expect(clampTtl(requested)).toEqual({ ok: true, ttlMs })
  })

  it("is by default no longer than the limit", () => {
    expect(clampTtl(0, { defaultMs: DAY, maxMs: HOUR, minMs: 1 })).toEqual({ ok: true, ttlMs: HOUR })
  })

  it.each([
    [DAY + 1000, "a lifetime of `86401 s` is longer than allowed; request at most 86400 s"],
    [59_000, "a lifetime of `59 s` is shorter than allowed; request at least 60 s"],
    [Number.NaN, "longer than allowed"],
    [Number.POSITIVE_INFINITY, "longer than allowed"],
  ])("may not be %i ms", (requested, message) => {
    expect(clampTtl(requested)).toEqual({ ok: false, message: expect.stringContaining(message) })
  })
})

describe("renewal", () => {
  it.each([
    [0.5, 12 * HOUR],
    [0, 12 * HOUR - 0.01 * DAY],
    [1, 12 * HOUR + 0.01 * DAY],
  ])("of a certificate for a day with random number %f is due after %i ms", (random, after) => {
    const now = 1_000_000
    expect(renewAt({ notBefore: now - BACKDATE_MS, notAfter: now + DAY }, () => random)).toBe(now + after)
  })

  it("is due within the lifetime and after a pause, however short the lifetime", () => {
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

  it("of a certificate that was not backdated is due within its lifetime", () => {
    fc.assert(
      fc.property(fc.integer({ min: 20_000, max: DAY }), life => {
        expect(renewAt({ notBefore: 0, notAfter: life }, () => 1)).toBeLessThan(life)
      }),
    )
  })
})
