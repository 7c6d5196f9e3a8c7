// SPDX-License-Identifier: Apache-2.0
// The `Ready` condition: accepted, with workloads to protect, with the keys it needs, behind proxies that cannot be
// bypassed, and enforced by them. It names everything that is missing; the first item is the reason.

import { oneLine, someOf } from "../observe/one-line.js"
import type { ConditionInputs, ConditionValue } from "./condition-inputs.js"
import { targetErrors } from "./service-targets.js"

export interface Parts {
  readonly accepted: ConditionValue
  readonly matches: ConditionValue
  readonly enforced: ConditionValue
}

interface Missing {
  readonly reason: string
  readonly what: string
}

export function ready(inputs: ConditionInputs, { accepted, matches, enforced }: Parts): ConditionValue {
  if (accepted.status !== "True") return { ...accepted, status: "False" }
  if (matches.status !== "True") return { ...matches, status: "False" }
  const missing = [...targets(inputs), ...keys(inputs), ...proxies(inputs), ...unless(enforced)]
  const [first] = missing
  if (first === undefined) return { status: "True", reason: "Ready", message: enforced.message }
  return { status: "False", reason: first.reason, message: missing.map(({ what }) => what).join("; ") }
}

/** A Service without workloads is not protected, whatever the other targets have. */
function targets({ reach, namespace }: ConditionInputs): readonly Missing[] {
  return targetErrors(reach.targets, namespace).map(what => ({ reason: "TargetNotFound", what }))
}

function keys({ keySets }: ConditionInputs): readonly Missing[] {
  const without = keySets.filter(({ state }) => state?.jwks === undefined)
  if (without.length === 0) return []
  const failing = without.filter(({ state }) => state?.error !== undefined)
  const named = someOf(
    without.map(({ issuer, state }) => {
      const error = state?.error === undefined ? "being fetched" : oneLine(state.error, 300)
      return `\`${oneLine(issuer)}\` (${error})`
    }),
  )
  return [{ reason: failing.length > 0 ? "NoKeys" : "FetchingKeys", what: `no keys of ${named}` }]
}

function proxies({ reach: { unproxied, bypassable } }: ConditionInputs): readonly Missing[] {
  const missing: Missing[] = []
  if (unproxied.length > 0) missing.push({ reason: "NoProxy", what: `no xserver in front of ${someOf(unproxied)}` })
  if (bypassable.length > 0) {
    const named = someOf(bypassable.map(({ workload, because }) => `${workload} (${because})`))
    missing.push({ reason: "Bypassable", what: `xserver can be bypassed at ${named}` })
  }
  return missing
}

function unless({ status, reason, message }: ConditionValue): readonly Missing[] {
  // A missing authorizer is reported among the targets.
  return status === "True" || reason === "NoAuthorizer" ? [] : [{ reason, what: message }]
}
