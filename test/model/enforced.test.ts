// SPDX-License-Identifier: Apache-2.0
// Explores every sequence of events up to a length, on the control plane's own code: what a status claims is true, and
// it is claimed exactly when the oracle allows it.

import { expect, inject, it } from "vitest"
import { EVENTS, type Event, LAGGING_EVENTS, SmallWorld, type SmallWorldOptions } from "./support/small-world.js"

/** The document on the wire contains the generation, so no two generations share a version. */
const WITH_GENERATION: SmallWorldOptions = { versionOf: generation => `${generation}` }
/**
 * Labels, annotations and keys can be changed and changed back, so a later generation can have the first version again.
 */
const OF_CONTENT: SmallWorldOptions = { versionOf: generation => `content-${generation % 2}` }

interface Explored {
  readonly sequences: number
  readonly claims: number
  readonly violation: string | undefined
}

/**
 * Stops at the first violation. Worlds cannot be copied, so the events of a branch are replayed for each of its
 * sequences but the first.
 */
function explore(length: number, options: SmallWorldOptions, violationOf = falseClaim): Explored {
  let sequences = 0
  let claims = 0
  let violation: string | undefined
  const replay = (events: readonly Event[]): SmallWorld => {
    const world = new SmallWorld(options)
    for (const event of events) world.do(event)
    return world
  }
  const visit = (events: readonly Event[]): void => {
    if (events.length === length) return
    let world: SmallWorld | undefined
    for (const event of options.lags === true ? LAGGING_EVENTS : EVENTS) {
      if (violation !== undefined) return
      world ??= replay(events)
      // An event that cannot happen leaves the world unchanged.
      if (!world.do(event)) continue
      const happened = [...events, event]
      sequences++
      if (world.claimed) claims++
      const found = violationOf(world)
      if (found !== undefined) violation = `${found}, after: ${happened.join(", ")}`
      else visit(happened)
      world = undefined
    }
  }
  visit([])
  return { sequences, claims, violation }
}

const falseClaim = (world: SmallWorld): string | undefined => world.violation
const anyViolation = (world: SmallWorld): string | undefined => {
  if (world.violation !== undefined) return world.violation
  if (world.claimed === world.mayBeClaimed) return undefined
  return world.claimed ? "claimed without an acknowledgement" : "not claimed although everything is acknowledged"
}
const LENGTH = inject("effort") > 1 ? 11 : 9

it("claims Enforced exactly when the newest stream has acknowledged the stored policy", () => {
  const { sequences, claims, violation } = explore(LENGTH, WITH_GENERATION, anyViolation)
  console.info(`${sequences} sequences, ${claims} of them Enforced`)
  expect(violation).toBeUndefined()
  expect(claims).toBeGreaterThan(0)
})

it("makes no false claim when a change without a new generation is undone", () => {
  expect(explore(LENGTH - 1, OF_CONTENT).violation).toBeUndefined()
})

it("serves a proxy no older policy than another replica did, although it lags", () => {
  const { sequences, violation } = explore(LENGTH, { ...WITH_GENERATION, lags: true })
  console.info(`${sequences} sequences of a replica that lags`)
  expect(violation).toBeUndefined()
})

it("finds the false claim of a session that ignores what it has sent", () => {
  const { violation } = explore(8, { ...OF_CONTENT, bug: "sent is ignored" })
  expect(violation).toContain("Enforced at generation 3")
})

it("finds the older policy that a lagging replica serves", () => {
  const { violation } = explore(8, { ...WITH_GENERATION, lags: true, bug: "served although it lags" })
  expect(violation).toContain("judges by 1")
})
