// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a document, or odd about it: two closed tables of codes. A fault refuses the document; a warning
// is told and the document stands. Both say where, what is wrong and what would be right.

/** Field names and list positions from the top of the document. */
export type Path = readonly (string | number)[]

/** What a code means, and what to do about it; the message beside a code says the same of the case at hand. */
export type FaultTable = { readonly [code: string]: { readonly means: string; readonly next: string } }

export const FAULTS = {
  "unknown-kind": {
    means: "the document is of no kind that is known here",
    next: "check `apiVersion` and `kind`; the message names the nearest",
  },
  "unknown-field": {
    means: "the field does not exist at this place",
    next: "write the name that the message suggests, or leave the field out",
  },
  "missing-field": {
    means: "a field that must be there is not",
    next: "add the field; the message says what it takes",
  },
  "wrong-type": {
    means: "the value is of another type than the field",
    next: "write a value of the type that the message names",
  },
  "unknown-value": {
    means: "the value is none of the few the field takes",
    next: "write one of the values that the message lists",
  },
  "empty-value": {
    means: "the value is empty where it must not be",
    next: "fill the value in, or leave the field out",
  },
  "bad-value": {
    means: "the value has the right type and the wrong form",
    next: "write it in the form that the message shows",
  },
  "too-large": {
    means: "the value or the document exceeds a limit",
    next: "make it smaller or split it; the message has size and limit",
  },
  conflict: {
    means: "two fields exclude each other",
    next: "keep one of the two",
  },
  "not-supported": {
    means: "the field or value is known from other meshes and not supported here",
    next: "write what the message offers in its place, or leave it out",
  },
  "never-matches": {
    means: "the value can never match, so the policy would not do what it says",
    next: "correct the value, or remove it with what depends on it",
  },
  unreadable: {
    means: "the text is neither YAML nor JSON, or uses what is refused for safety",
    next: "correct the line that the message names",
  },
  "more-faults": {
    means: "there are more faults than are listed",
    next: "correct those that are listed and apply again",
  },
} as const satisfies FaultTable

export const WARNINGS = {
  "no-spec": {
    means: "the document has no spec and is read as if it were empty",
    next: "write a `spec`, or `spec: {}` if that is meant",
  },
  "unknown-metadata": {
    means: "the metadata field is not one of Kubernetes",
    next: "check the spelling; labels and annotations go into their own maps",
  },
  "empty-selector": {
    means: "the selector selects by nothing",
    next: "name labels, or remove the selector if all workloads are meant",
  },
  "empty-list": {
    means: "the list is empty and means the same as its absence",
    next: "remove the list, or fill it in",
  },
  "label-syntax": {
    means: "no workload can have such a label",
    next: "correct the label as Kubernetes spells them",
  },
  "never-matches": {
    means: "the value can never match",
    next: "correct the value, or remove it",
  },
  "literal-wildcard": {
    means: "a `*` is taken literally at this place",
    next: "write the value without `*`, or move it to a field that takes patterns",
  },
  "lower-case-method": {
    means: "methods are compared with regard to case",
    next: "write the method in capitals",
  },
  "any-issuer": {
    means: "tokens of every issuer are accepted that these keys sign",
    next: "name the `issuer`, unless tokens of every issuer are meant",
  },
  "no-discovery": {
    means: "the issuer is no URL, so its keys cannot be found",
    next: "add `jwksUri` or `jwks`",
  },
  "private-key": {
    means: "a key set for verification contains private material",
    next: "remove the private parts, and replace the key wherever the document was seen",
  },
  "unused-key": {
    means: "a key of the set can never verify a signature",
    next: "remove the key, or correct its `kty`, `use` and `alg`",
  },
  "denies-tcp": {
    means: "the rule refuses all TCP traffic in scope",
    next: "name the HTTP ports that the rule is meant for",
  },
  "ignored-policy": {
    means: "the policy has no effect where it stands",
    next: "move it to where it counts; the message says where",
  },
  "weight-sum": {
    means: "the weights do not add up to 100",
    next: "make the weights add up to 100",
  },
  "more-warnings": {
    means: "there are more warnings than are listed",
    next: "look after those that are listed and apply again",
  },
} as const satisfies FaultTable

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
