// SPDX-License-Identifier: Apache-2.0
// The lifetime of workload certificates.

export interface TtlLimits {
  readonly defaultMs: number
  readonly maxMs: number
  readonly minMs: number
}

const HOUR = 3_600_000

/**
 * A stolen key is usable until its certificate expires. The operator of a mesh may allow longer lifetimes, a workload
 * may not.
 */
export const DEFAULT_TTL_LIMITS: TtlLimits = { defaultMs: 24 * HOUR, maxMs: 24 * HOUR, minMs: 60_000 }

export type TtlResult = { readonly ok: true; readonly ttlMs: number } | { readonly ok: false; readonly message: string }

/**
 * Zero or less requests the default. A value outside the limits is rejected and not adjusted, because the caller relies
 * on it.
 */
export function clampTtl(requestedMs: number, { defaultMs, maxMs, minMs }: TtlLimits = DEFAULT_TTL_LIMITS): TtlResult {
  if (requestedMs <= 0) return { ok: true, ttlMs: Math.min(defaultMs, maxMs) }
  // Written so that NaN fails closed.
  if (!(requestedMs <= maxMs)) return rejected(requestedMs, "longer", "most", maxMs)
  if (requestedMs < minMs) return rejected(requestedMs, "shorter", "least", minMs)
  return { ok: true, ttlMs: requestedMs }
}

function rejected(requestedMs: number, comparison: string, bound: string, limitMs: number): TtlResult {
  const asked = `${requestedMs / 1000} s`
  return {
    ok: false,
    message: `a lifetime of \`${asked}\` is ${comparison} than allowed; request at ${bound} ${limitMs / 1000} s`,
  }
}
