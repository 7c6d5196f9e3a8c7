// SPDX-License-Identifier: Apache-2.0
// The value of the dry-run annotation, parsed like Go's `strconv.ParseBool`.

const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"])
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "FALSE", "false", "False"])

/** Whether the annotation requests shadow mode; undefined if its value is not a boolean. */
export function parseDryRun(value: string): boolean | undefined {
  if (TRUE.has(value)) return true
  return FALSE.has(value) ? false : undefined
}
