// SPDX-License-Identifier: Apache-2.0
// Every sequence of events up to a length, on the control plane's own code: what a status claims is true, and is claimed
// exactly when the oracle says that it may be.

import { expect, inject, it } from "vitest"
import { EVENTS, type Event, SmallWorld } from "./support/small-world.js"

type VersionOf = (generation: number) => string

/** As in the code: the wire document has the generation, so no two generations share a version. */
const withGeneration: VersionOf = generation => `${generation}`
/** A policy that is changed and changed back has its first version again. */
const ofContent: VersionOf = generation => `content-${generation % 2}`

interface Explored {
  readonly sequences: number
  readonly claims: number
  readonly violation: string | undefined
}

/** Stops at the first violation. Worlds cannot be copied, so each sequence but the first of a branch begins anew. */
function explore(length: number, versionOf: VersionOf, errorOf: (world: SmallWorld) => string | undefined): Explored {
  let sequences = 0
  let claims = 0
  let violation: string | undefined
  const replay = (events: readonly Event[]): SmallWorld => {
    const world = new SmallWorld(versionOf)
    for (const event of events) world.do(event)
    return world
  }
  const visit = (events: readonly Event[]): void => {
    if (events.length === length) return
    let world: SmallWorld | undefined
    for (const event of EVENTS) {
      if (violation !== undefined) return
      world ??= replay(events)
      // An event that cannot happen leaves the world as it was.
      if (!world.do(event)) continue
      const happened = [...events, event]
      sequences++
      if (world.claimed) claims++
      const found = errorOf(world)
      if (found !== undefined) violation = `${found}, after: ${happened.join(", ")}`
      else visit(happened)
      world = undefined
    }
  }
  visit([])
  return { sequences, claims, violation }
}

const any = (world: SmallWorld): string | undefined => {
  if (world.violation !== undefined) return world.violation
  if (world.claimed === world.mayBeClaimed) return undefined
  return world.claimed ? "claimed without an acknowledgement" : "not claimed although everything is acknowledged"
}

it("claims Enforced exactly when the newest stream has acknowledged what is stored", () => {
  const { sequences, claims, violation } = explore(inject("effort") > 1 ? 11 : 9, withGeneration, any)
  console.info(`${sequences} sequences, ${claims} of them Enforced`)
  expect(violation).toBeUndefined()
  expect(claims).toBeGreaterThan(0)
})

it("finds the false claim that versions without a generation would make", () => {
  expect(explore(8, ofContent, world => world.violation).violation).toContain("Enforced at generation 3")
})
