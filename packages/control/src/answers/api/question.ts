// SPDX-License-Identifier: Apache-2.0
// Parses a query from path, verb and query string.

import { badRequest } from "./answers-api-error.js"
import { ANSWERS, type AnswerResource } from "./resources.js"

export interface Question {
  readonly resource: AnswerResource
  readonly verb: string
  /** All namespaces if undefined. */
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly query: URLSearchParams
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Parses the path after group and version. Undefined if there is no such resource. */
export function readQuestion(method: string, rest: string, query: URLSearchParams): Question | undefined {
  const parts = rest.split("/").filter(part => part !== "")
  const namespaced = parts[0] === "namespaces" && parts.length >= 3
  const namespace = namespaced ? named(parts[1] ?? "") : undefined
  const [plural, name, ...more] = namespaced ? parts.slice(2) : parts
  const resource = ANSWERS.find(one => one.name === plural)
  if (resource === undefined || more.length > 0) return undefined
  return {
    resource,
    verb: verbOf(method, name, query),
    namespace,
    name: name === undefined ? undefined : named(name),
    query,
  }
}

function named(text: string): string {
  if (NAME.test(text)) return text
  throw badRequest(`\`${text.slice(0, 80)}\` is not a name; use lower-case letters, digits, dots and dashes`)
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): string {
  if (method === "POST") return "create"
  if (name !== undefined) return "get"
  const watch = query.get("watch")
  return watch !== null && watch !== "false" && watch !== "0" ? "watch" : "list"
}

/** Reads a whole number from the query. Rejects any other value with an error that names the parameter. */
export function wholeIn(query: URLSearchParams, name: string, otherwise: number, maximum: number): number {
  const text = query.get(name)
  if (text === null || text === "") return otherwise
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`\`${name}\` must be a whole number, and is \`${text.slice(0, 40)}\``)
  return Math.min(Number(text), maximum)
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Reads a time span such as `30d` or `12h`. */
export function spanIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === "") return undefined
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (number === undefined || unit === undefined) {
    throw badRequest(`\`${name}\` must be a duration such as \`30d\` or \`12h\`, and is \`${text.slice(0, 40)}\``)
  }
  return Number(number) * (UNITS[unit] ?? 0)
}
