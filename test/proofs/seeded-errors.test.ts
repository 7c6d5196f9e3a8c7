// SPDX-License-Identifier: Apache-2.0
// An error of the search is found by the checker, and not by an expectation of ours: `npm run test:mutants` breaks the search,
// and what it then proves must not be valid.

import { expect, it } from "vitest"
import { checked } from "./certified.js"
import { certified, EXAMPLES } from "./examples.js"

it.each(EXAMPLES)("the checker accepts what is proved of $name", example => {
  const certificate = certified(example)
  if (certificate !== undefined) expect(checked(certificate, example.sides)).toHaveLength(1)
})
