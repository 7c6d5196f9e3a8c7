// SPDX-License-Identifier: Apache-2.0
// The result of one step of a body reader.

export const STEP = {
  /** Content lies between `start` and `end`. */
  data: 0,
  /** All bytes are consumed. */
  more: 1,
  /** The body is complete; the bytes from `next` on belong to the next message. */
  done: 2,
  error: 3,
} as const

export type Step = (typeof STEP)[keyof typeof STEP]
