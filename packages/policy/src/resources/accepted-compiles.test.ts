// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, describe as group, inject, it } from "vitest"
import { meshConfig } from "../mesh/config.js"
import { compile } from "../program.js"
import { describe } from "./describe.js"
import { KINDS } from "./kinds.js"
import { arbitrarySpec } from "./testing/arbitrary.js"
import { documentOf, NAMES } from "./testing/documents.js"
import { validate } from "./validate.js"

// `compile` throws on documents that were not validated, so every valid document must compile.
group("everything that validate() accepts can be compiled and described", () => {
  const mesh = meshConfig()
  const workload = { namespace: "foo", name: "w", labels: { a: "a", app: "web" } }
  it.each(KINDS.map(definition => [definition.kind, definition] as const))("%s", (kind, definition) => {
    let accepted = 0
    fc.assert(
      fc.property(arbitrarySpec(definition), spec => {
        // Without a selector, so that the policy applies.
        const selected = { ...(spec as object), ...(kind === "PeerAuthentication" ? {} : { selector: undefined }) }
        const { document } = validate(documentOf(kind, JSON.parse(JSON.stringify(selected))), NAMES)
        if (document === undefined) return
        accepted++
        compile([document], workload, mesh)
        expect(describe(document, mesh)).not.toContain("undefined")
      }),
      { numRuns: 1_000 * inject("effort") },
    )
    expect(accepted).toBeGreaterThan(50)
  })
})
