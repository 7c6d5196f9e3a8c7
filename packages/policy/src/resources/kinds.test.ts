// SPDX-License-Identifier: Apache-2.0

import { Ajv } from "ajv"
import { expect, it } from "vitest"
import { KINDS } from "./kinds.js"

it.each(KINDS.map(({ kind, spec }) => [kind, spec] as const))("the schema of %s is one", (_, spec) => {
  const ajv = new Ajv({ strict: false })
  expect(ajv.validateSchema(spec), ajv.errorsText()).toBe(true)
  expect(ajv.validateSchema({ ...spec, properties: 1 })).toBe(false)
})
