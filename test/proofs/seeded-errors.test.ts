// SPDX-License-Identifier: Apache-2.0
// The checker, not an expected value, detects errors of the search: `npm run test:mutants` breaks the search, and the
// certificates that it then writes must be invalid.

import { expect, it } from "vitest"
import { checked } from "./certified.js"
import { certified, EXAMPLES } from "./examples.js"

it.each(EXAMPLES)("the checker accepts the certificate of $name", example => {
  const certificate = certified(example)
  if (certificate !== undefined) expect(checked(certificate, example.sides)).toHaveLength(1)
})
