// SPDX-License-Identifier: Apache-2.0
// Label selectors in both forms: the query string (`app in (a,b),!c,n>1`) and the LabelSelector object. Errors have the
// messages of Kubernetes' own parser.

import { goQuote } from "../meta/field-error.js"
import { labelValueErrors, qualifiedNameErrors } from "../meta/names.js"
import { asArray, asObject, asString, asStrings, type Json } from "../value.js"

export class SelectorError extends Error {}

type Operator = "=" | "!=" | "in" | "notin" | "exists" | "!" | ">" | "<"

export interface Requirement {
  readonly key: string
  readonly operator: Operator
  readonly values: readonly string[]
}

export type LabelSelector = readonly Requirement[]
export type Labels = Readonly<Record<string, Json>>

export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  // ALL requirements must match.
  return selector.every(requirement => holds(requirement, labels))
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? asString(labels[key]) : undefined
  switch (operator) {
    case "=":
    case "in":
      return value !== undefined && values.includes(value)
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value)
    case "exists":
      return value !== undefined
    case "!":
      return value === undefined
    case ">":
    case "<": {
      if (value === undefined || !/^[+-]?\d+$/.test(value)) return false
      const left = BigInt(value)
      const right = BigInt(values[0] ?? "0")
      return operator === ">" ? left > right : left < right
    }
    default:
      return operator satisfies never
  }
}

interface Token {
  readonly kind: "identifier" | "symbol" | "end"
  readonly text: string
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const pattern = /\s*(==|!=|[=!,()<>]|[^\s=!,()<>]+)/gy
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const word = match[1] ?? ""
    tokens.push({ kind: /^[=!,()<>]/.test(word) ? "symbol" : "identifier", text: word })
  }
  tokens.push({ kind: "end", text: "" })
  return tokens
}

export function parseLabelSelector(text: string): LabelSelector {
  const parser = new Parser(tokenize(text))
  return parser.requirements()
}

class Parser {
  at = 0
  constructor(readonly tokens: readonly Token[]) {}

  peek(): Token {
    return this.tokens[this.at] ?? { kind: "end", text: "" }
  }

  next(): Token {
    const token = this.peek()
    this.at++
    return token
  }

  requirements(): Requirement[] {
    const out: Requirement[] = []
    for (;;) {
      const token = this.peek()
      if (token.kind === "end") return out
      if (token.kind !== "identifier" && token.text !== "!")
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`)
      try {
        out.push(this.requirement())
      } catch (error) {
        throw error instanceof SelectorError
          ? new SelectorError(`unable to parse requirement: ${error.message}`)
          : error
      }
      const separator = this.next()
      if (separator.kind === "end") return out
      if (separator.text !== ",") throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`)
      const after = this.peek()
      if (after.kind !== "identifier" && after.text !== "!")
        throw new SelectorError(`found '${after.text}', expected: identifier after ','`)
    }
  }

  requirement(): Requirement {
    const negated = this.peek().text === "!"
    if (negated) this.next()
    const name = this.next()
    if (name.kind !== "identifier") throw new SelectorError(`found '${name.text}', expected: identifier`)
    const problem = qualifiedNameErrors(name.text)[0]
    if (problem !== undefined) throw new SelectorError(`<nil>: Invalid value: ${goQuote(name.text)}: ${problem}`)
    const key = name.text
    const after = this.peek()
    if (negated || after.kind === "end" || after.text === ",")
      return { key, operator: negated ? "!" : "exists", values: [] }
    const operator = this.next()
    switch (operator.text) {
      case "=":
      case "==":
      case "!=":
        return this.checked({ key, operator: operator.text === "!=" ? "!=" : "=", values: [this.single()] })
      case "<":
      case ">": {
        const value = this.single()
        if (!/^[+-]?\d+$/.test(value))
          throw new SelectorError(
            `values[0]: Invalid value: ${goQuote(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
          )
        return { key, operator: operator.text, values: [value] }
      }
      case "in":
      case "notin":
        return this.checked({ key, operator: operator.text, values: this.set() })
      default:
        throw new SelectorError(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  checked(requirement: Requirement): Requirement {
    for (const [i, value] of requirement.values.entries()) {
      const problem = labelValueErrors(value)[0]
      if (problem !== undefined)
        throw new SelectorError(`values[${i}][${requirement.key}]: Invalid value: ${goQuote(value)}: ${problem}`)
    }
    return requirement
  }

  single(): string {
    const token = this.peek()
    if (token.kind === "end" || token.text === ",") return ""
    if (token.kind !== "identifier") throw new SelectorError(`found '${token.text}', expected: identifier`)
    return this.next().text
  }

  set(): string[] {
    const open = this.next()
    if (open.text !== "(") throw new SelectorError(`found '${open.text}' expected: '('`)
    const values = new Set<string>()
    for (;;) {
      const token = this.next()
      if (token.text === ")") {
        if (values.size === 0) values.add("")
        return [...values].sort()
      }
      if (token.text === ",") {
        values.add("")
        continue
      }
      if (token.kind !== "identifier")
        throw new SelectorError(`found '${token.text}', expected: ',', ')' or identifier`)
      values.add(token.text)
      const after = this.next()
      if (after.text === ")") return [...values].sort()
      if (after.text !== ",") throw new SelectorError(`found '${after.text}', expected: ',' or ')'`)
      if (this.peek().text === ")") {
        values.add("")
        this.next()
        return [...values].sort()
      }
    }
  }
}

/** Parses a LabelSelector document: null selects nothing, {} selects everything. */
export function selectorFromObject(selector: Json | undefined): LabelSelector | undefined {
  if (selector === undefined || selector === null) return undefined
  const object = asObject(selector)
  const operators: Record<string, Operator> = { In: "in", NotIn: "notin", Exists: "exists", DoesNotExist: "!" }
  return [
    ...Object.entries(asObject(object.matchLabels)).map(
      ([key, value]): Requirement => ({ key, operator: "=", values: [asString(value)] }),
    ),
    ...asArray(object.matchExpressions).map((item): Requirement => {
      const expression = asObject(item)
      return {
        key: asString(expression.key),
        operator: operators[asString(expression.operator)] ?? "exists",
        values: asStrings(expression.values),
      }
    }),
  ]
}

export function printSelector(selector: LabelSelector): string {
  return [...selector]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key, operator, values }) => {
      if (operator === "exists") return key
      if (operator === "!") return `!${key}`
      if (operator === "in" || operator === "notin") return `${key} ${operator} (${[...values].sort().join(",")})`
      return `${key}${operator}${values[0] ?? ""}`
    })
    .join(",")
}
