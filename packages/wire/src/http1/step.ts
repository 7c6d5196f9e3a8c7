// SPDX-License-Identifier: Apache-2.0
// The result of one step of a body reader.

export const STEP = {
  /** Content lies between `start` and `end`. */
  data: 0,
  /** The piece is used up. */
  more: 1,
  /** The body is complete; what follows `next` belongs to the next message. */
  done: 2,
  error: 3,
} as const

export type Step = (typeof STEP)[keyof typeof STEP]
