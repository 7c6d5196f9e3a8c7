// SPDX-License-Identifier: Apache-2.0
// A private copy of an untrusted value, taken before any check, so that the checked value is the one that is used. Only
// JSON survives. Depth, size and number of values are bounded, and with them all later work. INVARIANT: no object of a
// copy inherits anything, so `constructor` is a name like any other.

import { BareObject } from "./bare-object.js"
import type { Path } from "./document-error.js"
import { isObject, type Report } from "./field.js"

const LIMITS = {
  /** Our deepest field is at depth 12; managed fields of the API server are somewhat deeper. */
  depth: 40,
  values: 100_000,
  /** For keys and texts together; an API server stores no object larger than about 1.5 MiB. */
  characters: 2_097_152,
} as const

class TooLarge extends Error {
  constructor(
    readonly problem: string,
    readonly at: Path,
  ) {
    super(problem)
  }
}

/** The copy, or undefined if a limit was exceeded. Values that are not JSON are reported and omitted. */
export function snapshot(value: unknown, report: Report): unknown {
  const path: (string | number)[] = []
  let values = 0
  let characters = 0

  const spend = (text: string): void => {
    characters += text.length
    if (characters > LIMITS.characters) {
      throw new TooLarge(`the document has more than ${LIMITS.characters} characters`, [])
    }
  }

  const copy = (original: unknown): unknown => {
    if (++values > LIMITS.values) throw new TooLarge(`the document has more than ${LIMITS.values} values`, [])
    if (path.length > LIMITS.depth) {
      throw new TooLarge(`the document is nested more than ${LIMITS.depth} deep`, path.slice(0, 8))
    }
    if (typeof original === "string") spend(original)
    if (original === null || typeof original === "string" || typeof original === "boolean") return original
    if (typeof original === "number" && Number.isFinite(original)) return original
    if (Array.isArray(original)) return copyList(original)
    if (isObject(original)) return copyObject(original)
    report.error(
      "wrong-type",
      [...path],
      `is a ${typeof original}, which JSON does not have`,
      "write text, a number, true or false",
    )
    return undefined
  }

  const copyList = (original: readonly unknown[]): unknown => {
    // A list may have a length that is larger than its number of items.
    if (original.length > LIMITS.values) throw new TooLarge(`the document has more than ${LIMITS.values} values`, [])
    return Array.from(original, (item, index) => step(index, item))
  }

  const copyObject = (original: Record<string, unknown>): unknown => {
    const result: Record<string, unknown> = new BareObject()
    for (const key of Object.keys(original)) {
      spend(key)
      if (key === "__proto__") {
        // Fail closed: it is harmless in our copy, but dangerous for later readers that copy it again.
        report.error("unknown-field", [...path, key], "unknown field `__proto__`", "remove it")
        continue
      }
      result[key] = step(key, original[key])
    }
    return result
  }

  const step = (name: string | number, item: unknown): unknown => {
    path.push(name)
    const result = copy(item)
    path.pop()
    return result
  }

  try {
    return copy(value)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    report.error("too-large", error.at, error.problem, "split the policy into smaller ones")
    return undefined
  }
}
