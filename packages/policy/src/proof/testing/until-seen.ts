// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect } from "vitest"

const TURNS = 10

/**
 * Checks a property, and checks it again while some answer that it counts in `seen` is missing: random cases may never
 * produce one, and each answer must have been tested.
 */
export function assertUntilSeen<Values, Answers extends Readonly<Record<string, number>>>(
  property: fc.IProperty<Values>,
  parameters: fc.Parameters<Values>,
  seen: Answers,
  ...answers: readonly (keyof Answers)[]
): void {
  const missing = (): readonly (keyof Answers)[] => answers.filter(answer => seen[answer] === 0)
  fc.assert(property, parameters)
  for (let turn = 1; turn < TURNS && missing().length > 0; turn++) fc.assert(property, parameters)
  expect(missing(), "answers that never came").toEqual([])
}
