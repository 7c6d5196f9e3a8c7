// SPDX-License-Identifier: Apache-2.0

import { Ajv } from "ajv"
import { expect, it } from "vitest"
import { customResourceDefinitions } from "./crd.js"
import { exampleDocument, KINDS } from "./kinds.js"
import { readDocuments } from "./read.js"
import { crdValidator } from "./testing/crd-validator.js"
import { NAMES } from "./testing/documents.js"

it.each(KINDS.map(({ kind, spec }) => [kind, spec] as const))("the schema of %s is valid", (_, spec) => {
  const ajv = new Ajv({ strict: false })
  expect(ajv.validateSchema(spec), ajv.errorsText()).toBe(true)
  expect(ajv.validateSchema({ ...spec, properties: 1 })).toBe(false)
})

it.each(KINDS.map((definition, index) => [definition.kind, definition, index] as const))(
  "the example of %s validates without a warning, and the API server takes it",
  (_, definition, index) => {
    const [read] = readDocuments(exampleDocument(definition, NAMES), NAMES)
    expect(read?.errors).toEqual([])
    expect(read?.warnings).toEqual([])
    const crd = customResourceDefinitions(NAMES)[index]
    expect(crd && crdValidator(crd)(JSON.parse(JSON.stringify(read?.document)))).toEqual([])
  },
)
