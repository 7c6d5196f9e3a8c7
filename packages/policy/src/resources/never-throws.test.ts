// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { anyCodePoint } from "../testing/any-code-point.js"
import type { Kind } from "./document.js"
import { readDocuments } from "./read.js"
import { documentOf, NAMES } from "./testing/documents.js"
import { validate } from "./validate.js"

const kinds: readonly Kind[] = ["RequestAuthentication", "AuthorizationPolicy", "PeerAuthentication", "MeshService"]

/** Pieces with a meaning in YAML; a random sequence of them is rarely valid. */
const pieces = fc.constantFrom(
  ...[
    "---\n",
    "...\n",
    "- ",
    "? ",
    ": ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a ",
    "!t ",
    "!!map ",
    "|\n",
    ">\n",
    "#",
    "%YAML 1.1\n",
  ],
  ...[
    "\n",
    "\r\n",
    "\t",
    "  ",
    '"',
    "'",
    "\\",
    "\u0000",
    "\ufeff",
    "\ud800",
    "\u2028",
    "a",
    "1",
    "null",
    "<<",
    "__proto__",
  ],
  ...[
    "apiVersion: security.merlon.dev/v1alpha3\n",
    "kind: AuthorizationPolicy\n",
    "metadata: {name: a}\n",
    "spec:\n",
    "rules:\n",
  ],
)

describe("every input gets a result", () => {
  it("when a value is validated", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        value => {
          expect(validate(value, NAMES).document).toBeUndefined()
        },
      ),
    )
  })

  it("when a spec is validated", () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.object({ withNullPrototype: true }), (kind, spec) => {
        const { document, errors } = validate(documentOf(kind, spec), NAMES)
        expect(document === undefined).toBe(errors.length > 0)
      }),
    )
  })

  it("when a text is read", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(pieces, fc.string({ unit: anyCodePoint, maxLength: 5 })), { maxLength: 60 }),
        parts => {
          for (const { document, errors } of readDocuments(parts.join(""), NAMES)) {
            expect(document === undefined).toBe(errors.length > 0)
            for (const { position } of errors) expect(position?.line).toBeGreaterThan(0)
          }
        },
      ),
      { numRuns: 150 * inject("effort") },
    )
  })
})
