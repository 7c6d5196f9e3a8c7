// SPDX-License-Identifier: Apache-2.0
// The possible problems of a document: two closed tables of codes. An error rejects the document; a warning is reported
// and the document is accepted. Both have a field path, the problem and its fix.

/** Field names and list positions from the top of the document. */
export type Path = readonly (string | number)[]

/** General cause and fix; the message next to a code is about the case at hand. */
export type ErrorTable = { readonly [code: string]: { readonly cause: string; readonly fix: string } }

export const DOCUMENT_ERRORS = {
  "unknown-kind": {
    cause: "the document is not of a kind that Merlon knows",
    fix: "check `apiVersion` and `kind`; the message suggests the nearest",
  },
  "unknown-field": {
    cause: "the field does not exist in this object",
    fix: "use the name that the message suggests, or remove the field",
  },
  "missing-field": {
    cause: "a required field is missing",
    fix: "add the field; the message describes its value",
  },
  "wrong-type": {
    cause: "the value has the wrong type",
    fix: "write a value of the type that the message names",
  },
  "unknown-value": {
    cause: "the value is not one of those the field accepts",
    fix: "use one of the values that the message lists",
  },
  "empty-value": {
    cause: "the value is empty where one is required",
    fix: "fill it in, or remove the field",
  },
  "bad-value": {
    cause: "the value has the wrong format",
    fix: "write it in the format that the message shows",
  },
  "too-large": {
    cause: "the value or the document exceeds a limit",
    fix: "shrink or split it; the message has the size and the limit",
  },
  conflict: {
    cause: "two fields exclude each other",
    fix: "keep one of the two",
  },
  "not-supported": {
    cause: "other meshes support this field or value, Merlon does not",
    fix: "use the alternative that the message suggests, or remove it",
  },
  "never-matches": {
    cause: "the value can never match, so the policy would not do what it says",
    fix: "correct the value, or remove it together with the fields that depend on it",
  },
  unreadable: {
    cause: "the text is neither YAML nor JSON, or uses a feature that is disabled for safety",
    fix: "correct the line that the message names",
  },
  "more-errors": {
    cause: "there are more errors than listed",
    fix: "correct the listed ones and apply again",
  },
} as const satisfies ErrorTable

export const WARNINGS = {
  "no-spec": {
    cause: "the document has no spec and is treated as empty",
    fix: "add a `spec`, or `spec: {}` if an empty one is intended",
  },
  "unknown-metadata": {
    cause: "Kubernetes has no such metadata field",
    fix: "check the spelling; labels and annotations go into their own maps",
  },
  "empty-selector": {
    cause: "the selector has no labels",
    fix: "add labels, or remove the selector to select all workloads",
  },
  "empty-list": {
    cause: "the list is empty, which is the same as leaving it out",
    fix: "remove the list, or fill it in",
  },
  "label-syntax": {
    cause: "no workload can have such a label",
    fix: "correct the label; Kubernetes restricts its characters and length",
  },
  "never-matches": {
    cause: "the value can never match",
    fix: "correct the value, or remove it",
  },
  "literal-wildcard": {
    cause: "this field takes `*` literally",
    fix: "remove the `*`, or move the value to a field that accepts patterns",
  },
  "lower-case-method": {
    cause: "HTTP methods are case-sensitive",
    fix: "write the method in capitals",
  },
  "any-issuer": {
    cause: "tokens of any issuer are accepted if these keys signed them",
    fix: "set `issuer`, unless you want to accept every issuer",
  },
  "no-discovery": {
    cause: "the issuer is not a URL, so its keys cannot be discovered",
    fix: "add `jwksUri` or `jwks`",
  },
  "private-key": {
    cause: "the key set contains private keys",
    fix: "remove the private parts, and replace the key, because everyone who read the document knows it",
  },
  "unused-key": {
    cause: "a key of the set can never verify a signature",
    fix: "remove the key, or correct its `kty`, `use` and `alg`",
  },
  "denies-tcp": {
    cause: "the rule denies all TCP traffic in scope",
    fix: "list the HTTP ports that the rule is for",
  },
  "ignored-policy": {
    cause: "the policy has no effect in this namespace",
    fix: "move it to the namespace that the message names",
  },
  "weight-sum": {
    cause: "the weights do not add up to 100",
    fix: "make the weights add up to 100",
  },
  "more-warnings": {
    cause: "there are more warnings than listed",
    fix: "resolve the listed ones and apply again",
  },
} as const satisfies ErrorTable

export type DocumentErrorCode = keyof typeof DOCUMENT_ERRORS
export type WarningCode = keyof typeof WARNINGS

export interface Position {
  /** Line and column count from 1. */
  readonly line: number
  readonly column: number
}

interface Finding<Code> {
  readonly code: Code
  /** In the notation of Kubernetes: `spec.jwtRules[0].jwksUri`. Empty for the document as a whole. */
  readonly path: string
  readonly at: Path
  readonly problem: string
  readonly fix: string
  /** Path, problem and fix in one line. */
  readonly message: string
  /** Present if the document was read from text. */
  readonly position?: Position
}

export interface DocumentError extends Finding<DocumentErrorCode> {}
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

/** A user's text in a form that is safe in a message: short, on one line, without terminal control characters. */
export function shown(value: string): string {
  const short = value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value
  return short.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

export function finding<Code extends DocumentErrorCode | WarningCode>(
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

/** All errors of a document as one sentence, in the form other meshes use. */
export function rejection(name: string, namespace: string, errors: readonly DocumentError[]): string {
  return `invalid policy ${shown(name)}.${shown(namespace)}: ${errors.map(error => error.message).join("; ")}`
}
