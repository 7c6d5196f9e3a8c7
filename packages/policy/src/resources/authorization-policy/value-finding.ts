// SPDX-License-Identifier: Apache-2.0
// Findings about one value of a rule. A value that does not parse is an error. A value that parses but likely does not do
// what its author expects is a warning, or an error if a DENY would silently allow everything.

import { type DocumentErrorCode, shown, type WarningCode } from "../document-error.js"

export type ValueFinding =
  | { readonly severity: "error"; readonly code: DocumentErrorCode; readonly problem: string; readonly fix: string }
  | { readonly severity: "warning"; readonly code: WarningCode; readonly problem: string; readonly fix: string }

/** `found` is the field's name as error messages spell it, `Paths` or `NotPaths`. */
export type ValueCheck = (value: string, found: string) => ValueFinding | undefined

/** `*` is a wildcard at one end only; if a value has one at both ends, the second is a literal. */
export function literalStar(value: string): ValueFinding | undefined {
  const literal = value.startsWith("*") ? value.slice(1) : value.slice(0, -1)
  return literal.includes("*") ? starWarning(value) : undefined
}

export function starWarning(value: string): ValueFinding {
  return warning(
    "literal-wildcard",
    `in \`${shown(value)}\` a \`*\` is taken literally: it is a wildcard at one end of a value only`,
    "write `x*`, `*x` or `*`",
  )
}

export function error(code: DocumentErrorCode, problem: string, fix: string): ValueFinding {
  return { severity: "error", code, problem, fix }
}

export function warning(code: WarningCode, problem: string, fix: string): ValueFinding {
  return { severity: "warning", code, problem, fix }
}
