// SPDX-License-Identifier: Apache-2.0
// Minutes as bars, one upon the other, the highest as high as there is room.

import type { TrafficMinute } from "../../api/answers.js"

export interface Bar {
  readonly allowed: number
  readonly refused: number
}

/** What is not nothing is seen, however much the rest is. */
const LEAST = 1

export function heightsOf(minutes: readonly TrafficMinute[], height: number): readonly Bar[] {
  const most = Math.max(1, ...minutes.map(({ allowed, refused }) => allowed + refused))
  const room = height - 2 * LEAST
  const heightOf = (value: number): number => (value === 0 ? 0 : LEAST + (value / most) * room)
  return minutes.map(({ allowed, refused }) => ({ allowed: heightOf(allowed), refused: heightOf(refused) }))
}

export function sumOf(minutes: readonly TrafficMinute[]): Bar {
  return {
    allowed: minutes.reduce((sum, { allowed }) => sum + allowed, 0),
    refused: minutes.reduce((sum, { refused }) => sum + refused, 0),
  }
}
