// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a document, or odd about it: two closed tables of codes. A fault refuses the document; a warning
// is told and the document stands. Both say where, what is wrong and what would be right.

/** Field names and list positions from the top of the document. */
export type Path = readonly (string | number)[]

export const FAULTS = {
  "unknown-kind": "the document is of no kind that is known here",
  "unknown-field": "the field does not exist at this place",
  "missing-field": "a field that must be there is not",
  "wrong-type": "the value is of another type than the field",
  "unknown-value": "the value is none of the few the field takes",
  "empty-value": "the value is empty where it must not be",
  "bad-value": "the value has the right type and the wrong form",
  "too-large": "the value or the document exceeds a limit",
  conflict: "two fields exclude each other",
  "not-supported": "the field or value is known from other meshes and not supported here",
  "never-matches": "the value can never match, so the policy would not do what it says",
  unreadable: "the text is neither YAML nor JSON, or uses what is refused for safety",
  "more-faults": "there are more faults than are listed",
} as const

export const WARNINGS = {
  "no-spec": "the document has no spec and is read as if it were empty",
  "unknown-metadata": "the metadata field is not one of Kubernetes",
  "empty-selector": "the selector selects by nothing",
  "empty-list": "the list is empty and means the same as its absence",
  "label-syntax": "no workload can have such a label",
  "never-matches": "the value can never match",
  "literal-wildcard": "a `*` is taken literally at this place",
  "lower-case-method": "methods are compared with regard to case",
  "any-issuer": "tokens of every issuer are accepted that these keys sign",
  "no-discovery": "the issuer is no URL, so its keys cannot be found",
  "private-key": "a key set for verification contains private material",
  "unused-key": "a key of the set can never verify a signature",
  "denies-tcp": "the rule refuses all TCP traffic in scope",
  "ignored-policy": "the policy has no effect where it stands",
  "weight-sum": "the weights do not add up to 100",
  "more-warnings": "there are more warnings than are listed",
} as const

export type FaultCode = keyof typeof FAULTS
export type WarningCode = keyof typeof WARNINGS

export interface Position {
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

interface Finding<Code> {
  readonly code: Code
  /** As Kubernetes writes it: `spec.jwtRules[0].jwksUri`. Empty for the document as a whole. */
  readonly path: string
  readonly at: Path
  readonly problem: string
  readonly fix: string
  /** Path, problem and fix in one line. */
  readonly message: string
  /** Where the document was read from text. */
  readonly position?: Position
}

export interface Fault extends Finding<FaultCode> {}
export interface Warning extends Finding<WarningCode> {}

const MAX_SHOWN = 120
const PLAIN_NAME = /^[A-Za-z_$][A-Za-z0-9_$-]*$/

export function renderPath(at: Path): string {
  let path = ""
  for (const step of at) {
    if (typeof step === "number") path += `[${step}]`
    else if (PLAIN_NAME.test(step)) path += path === "" ? step : `.${shown(step)}`
    else path += `[${shown(step)}]`
  }
  return path
}

/** A user's word as it may stand in a message: short, on one line, without what a terminal would act on. */
export function shown(value: string): string {
  const short = value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value
  return short.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

export function finding<Code extends FaultCode | WarningCode>(
  code: Code,
  at: Path,
  problem: string,
  fix: string,
  position?: Position,
): Finding<Code> {
  const path = renderPath(at)
  const message = `${path === "" ? "" : `${path}: `}${problem}; ${fix}`
  return { code, path, at, problem, fix, message, ...(position === undefined ? {} : { position }) }
}

/** The refusal of a whole document as one sentence, in the words other meshes use. */
export function refusal(name: string, namespace: string, faults: readonly Fault[]): string {
  return `invalid policy ${shown(name)}.${shown(namespace)}: ${faults.map(fault => fault.message).join("; ")}`
}
