// SPDX-License-Identifier: Apache-2.0

import { expect, it } from "vitest"
import { newRequestId } from "./request-id.js"

it("creates random UUIDs without duplicates", () => {
  const ids = Array.from({ length: 1_000 }, newRequestId)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
})

it("uses every digit at every random position", () => {
  const seen = Array.from({ length: 36 }, () => new Set<string>())
  for (let n = 0; n < 2_000; n++) {
    for (const [place, digit] of newRequestId().split("").entries()) seen[place]?.add(digit)
  }
  const expected = seen.map((_, place) => ([8, 13, 14, 18, 23].includes(place) ? 1 : place === 19 ? 4 : 16))
  expect(seen.map(({ size }) => size)).toEqual(expected)
})
