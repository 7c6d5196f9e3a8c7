// SPDX-License-Identifier: Apache-2.0
// Completions at the cursor: the fields of the surrounding map, or the values of the field.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete"
import { type Schema, schemaAt } from "./schema.js"

export function completionFrom(schema: Schema): (context: CompletionContext) => CompletionResult | null {
  return context => {
    const line = context.state.doc.lineAt(context.pos)
    const before = context.state.doc.sliceString(0, line.from).split("\n")
    const typed = line.text.slice(0, context.pos - line.from)
    const found = completionsAt(schema, before, typed)
    if (found === undefined || (found.word === "" && !context.explicit)) return null
    return { from: context.pos - found.word.length, options: [...found.options], validFor: /^[\w-]*$/ }
  }
}

export interface Found {
  /** The part of the word that is already typed. */
  readonly word: string
  readonly options: readonly Completion[]
}

/** Pure, so that it can be tested without an editor. */
export function completionsAt(schema: Schema, before: readonly string[], typed: string): Found | undefined {
  const [, lead = "", name, value] = /^([\s-]*)(?:([\w-]+):\s+(?:\[\s*)?(?:.*,\s*)?)?([\w./-]*)$/.exec(typed) ?? []
  if (value === undefined) return undefined
  const path = pathAbove(before, lead.length)
  if (name === undefined) {
    const properties = schemaAt(schema, path)?.properties ?? {}
    const values = enumOf(schemaAt(schema, path))
    const fields = Object.entries(properties).map(([label, { type, description = "" }]) => ({
      label,
      detail: type ?? "",
      info: description,
      apply: `${label}:${type === "object" || type === "array" ? "" : " "}`,
      type: "property",
    }))
    return { word: value, options: [...fields, ...(lead.includes("-") ? values : [])] }
  }
  return { word: value, options: enumOf(schemaAt(schema, [...path, name])) }
}

function enumOf(schema: Schema | undefined): readonly Completion[] {
  const values = schema?.type === "boolean" ? [true, false] : (schema?.enum ?? [])
  return values.map(value => ({ label: String(value), type: "enum" }))
}

/** The names of the surrounding maps, by indentation. */
function pathAbove(before: readonly string[], indent: number): readonly string[] {
  const path: string[] = []
  let limit = indent
  for (let at = before.length - 1; at >= 0 && limit > 0; at--) {
    const [, lead, name] = /^([\s-]*)([\w-]+):(?:\s|$)/.exec(before[at] ?? "") ?? []
    if (lead === undefined || name === undefined) continue
    // A list may be indented like its key.
    const own = lead.length
    if (own < limit || (own === 0 && limit === 0)) {
      path.unshift(name)
      limit = own
    }
  }
  return path
}
