// SPDX-License-Identifier: Apache-2.0
// The condition for a RequestAuthentication's keys: how many there are, their age, the next refresh, and the last
// error.

import { oneLine, someOf } from "../observe/one-line.js"
import type { ConditionInputs, ConditionValue } from "./condition-inputs.js"

type Issuer = ConditionInputs["keySets"][number]

const MOST_NAMED = 5

export function jwksReady({ document, keySets, inlineKeySets }: ConditionInputs): ConditionValue {
  if (document === undefined)
    return { status: "Unknown", reason: "Invalid", message: "an invalid document needs no keys" }
  if (keySets.length === 0) {
    const message = inlineKeySets === 0 ? "no rule needs keys" : "every rule contains its keys"
    return { status: "True", reason: "Inline", message }
  }
  const without = keySets.filter(({ state }) => state?.jwks === undefined)
  const failing = keySets.filter(({ state }) => state?.error !== undefined)
  // Problems come first, because the sentence may be cut.
  const order = [...new Set([...without, ...failing, ...keySets])]
  const message = someOf(order.map(sentence), order.length, MOST_NAMED)
  if (without.some(({ state }) => state?.error !== undefined)) return { status: "False", reason: "NoKeys", message }
  if (without.length > 0) return { status: "Unknown", reason: "Fetching", message }
  // The keys are in effect, so tokens verify; only their age grows.
  return { status: "True", reason: failing.length > 0 ? "Stale" : "Ready", message }
}

function sentence({ issuer, state }: Issuer): string {
  const name = `\`${oneLine(issuer)}\``
  if (state?.jwks === undefined) {
    return state?.error === undefined
      ? `${name}: being fetched`
      : `${name}: no keys, its tokens are denied (${oneLine(state.error, 300)}; next try ${time(state.nextFetchAt)})`
  }
  const keys = `${name}: ${state.keys} ${state.keys === 1 ? "key" : "keys"} of ${time(state.fetchedAt)}`
  return state.error === undefined
    ? `${keys}, next refresh ${time(state.nextFetchAt)}`
    : `${keys} stay in force (${oneLine(state.error, 300)}; next try ${time(state.nextFetchAt)})`
}

function time(milliseconds: number | undefined): string {
  return milliseconds === undefined ? "unknown" : `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
}
