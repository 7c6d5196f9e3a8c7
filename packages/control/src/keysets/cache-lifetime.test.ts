// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { cacheLifetime } from "./cache-lifetime.js"

test.each<[string | undefined, number]>([
  [undefined, 1_200],
  ["", 1_200],
  ["max-age=300", 300],
  ["public, Max-Age=300, must-revalidate", 300],
  ['max-age="300"', 300],
  ["max-age=0", 60],
  ["max-age=59", 60],
  ["max-age=999999999999999", 86_400],
  ["max-age=-5", 1_200],
  ["max-age=1e9", 1_200],
  ["s-maxage=300", 1_200],
  ["no-store", 1_200],
  ["no-store, max-age=300", 1_200],
  ["no-cache, max-age=300", 1_200],
])("`%s` is cached for %i s", (header, seconds) => {
  expect(cacheLifetime(header)).toBe(seconds * 1_000)
})
