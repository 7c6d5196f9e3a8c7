// SPDX-License-Identifier: Apache-2.0
// Counts stored documents that cannot be read, by what is in effect instead. After an upgrade with stricter validation
// no user has applied anything, so the on-call engineer learns of it from this metric and not from a rejected `apply`.

import type { StoredPolicy } from "./stored-policy.js"

const INSTEAD = ["last_good", "strictest", "nothing"] as const
export type Instead = (typeof INSTEAD)[number]

export function unreadablePolicies(stored: Iterable<StoredPolicy>): ReadonlyMap<Instead, number> {
  const counts = new Map<Instead, number>(INSTEAD.map(instead => [instead, 0]))
  for (const { errors, inForce, isFallback } of stored) {
    if (errors.length === 0) continue
    const instead = inForce === undefined ? "nothing" : isFallback ? "strictest" : "last_good"
    counts.set(instead, (counts.get(instead) ?? 0) + 1)
  }
  return counts
}
