// SPDX-License-Identifier: Apache-2.0
// Placeholders of a recorded case: `<uid:1>` is the same value everywhere, `<time>` is any time. A recorded string is a
// pattern. Its first match is stored and filled into later requests.

import { asString, dig, isNumber, isObject, type Json, scalarText } from "../../value.js"

const kinds: Record<string, string> = {
  uid: "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
  rv: "[0-9]+",
  listrv: "[0-9]+",
  time: "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ",
  microtime: "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{1,9}Z",
  token: "[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*",
  continue: ".+",
  rand: "[a-z0-9]{5}",
  ip: "\\d+\\.\\d+\\.\\d+\\.\\d+",
  nodePort: "\\d+",
  age: "\\d+[smhdy]\\S*|<invalid>",
  unix: "\\d+",
  hash: '[^&"]+',
  any: "[\\s\\S]*",
  kid: "[A-Za-z0-9_-]+",
  sha256: "[0-9a-f]{64}",
  port: "\\d+",
  "ca-bundle": ".+?",
  "webhook-url": ".+?",
}
const names = Object.keys(kinds).sort((a, b) => b.length - a.length)
const placeholder = new RegExp(`<(${names.join("|")})(?::(\\d+))?>`, "g")
const whole = new RegExp(`^<(${names.join("|")})(?::(\\d+))?>$`)
const unbound = new Set(["time", "microtime", "age", "unix", "hash", "any"])

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

export class Bindings extends Map<string, Json> {
  /** Replaces placeholders whose values are known. */
  fill<T>(value: T): T {
    if (typeof value === "string") {
      const known = whole.test(value) ? this.get(value) : undefined
      if (known !== undefined) return known as T
      return value.replace(placeholder, match => scalarText(this.get(match) ?? match)) as T
    }
    if (Array.isArray(value)) return value.map(item => this.fill(item)) as T
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.fill(key), this.fill(item)])) as T
    return value
  }

  matches(expected: string, actual: string): boolean {
    if (!expected.includes("<")) return expected === actual
    let pattern = ""
    let at = 0
    const found: string[] = []
    const seen = new Map<string, number>()
    for (const match of expected.matchAll(placeholder)) {
      const [text, kind = "", number] = match
      pattern += literal(expected.slice(at, match.index))
      at = match.index + text.length
      const known = this.get(text)
      const earlier = seen.get(text)
      if (known !== undefined && !unbound.has(kind) && kind !== "listrv") pattern += literal(scalarText(known))
      else if (earlier !== undefined) pattern += `\\${earlier}`
      else {
        found.push(text)
        pattern += `(${kinds[kind] ?? ".+?"})`
        if (number !== undefined) seen.set(text, found.length)
      }
    }
    const result = new RegExp(`^${pattern}${literal(expected.slice(at))}$`).exec(actual)
    if (result === null) return false
    for (const [i, text] of found.entries()) this.set(text, result[i + 1] ?? "")
    return true
  }

  /** Checks that the values of `<rv:1>`, `<rv:2>`, … increase. */
  orderErrors(): string[] {
    const versions = [...this]
      .flatMap(([key, value]) => {
        const number = /^<rv:(\d+)>$/.exec(key)?.[1]
        return number === undefined ? [] : [[Number(number), Number(value)] as const]
      })
      .sort(([a], [b]) => a - b)
    return versions.flatMap(([n, value], i) => {
      const before = versions[i - 1]
      return before !== undefined && before[1] >= value
        ? [`resourceVersions out of order: <rv:${before[0]}>=${before[1]}, <rv:${n}>=${value}`]
        : []
    })
  }
}

function show(value: Json | undefined): string {
  return (
    JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${item}` : item)) ?? "nothing"
  ).slice(0, 600)
}

/** The differences between the recorded and the received value, in at most a dozen lines. */
export function differences(
  expected: Json | undefined,
  actual: Json | undefined,
  bind: Bindings,
  path = "",
  out: string[] = [],
): string[] {
  if (out.length > 12) return out
  const wrong = (): void => void out.push(`${path || "/"}: want ${show(expected)}, got ${show(actual)}`)
  if (typeof expected === "string") {
    const kind = whole.exec(expected)?.[1]
    if (kind === "any") return out
    if ((kind === "nodePort" || kind === "unix" || kind === "port") && isNumber(actual)) {
      if (!bind.matches(expected, `${actual}`)) wrong()
      else if (kind === "nodePort") bind.set(expected, actual)
    } else if (typeof actual !== "string" || !bind.matches(expected, actual)) wrong()
  } else if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) wrong()
    else {
      const sets = path.endsWith("/causes") || path.endsWith("/groups")
      const order = (list: readonly Json[]): Json[] =>
        sets ? [...list].sort((a, b) => (show(a) < show(b) ? -1 : 1)) : [...list]
      const got = order(actual)
      for (const [i, item] of order(expected).entries()) differences(item, got[i], bind, `${path}/${i}`, out)
    }
  } else if (isObject(expected)) {
    if (!isObject(actual)) wrong()
    else {
      for (const key of Object.keys(expected)) {
        if (!Object.hasOwn(actual, key)) out.push(`${path}/${key}: missing, want ${show(expected[key])}`)
        else differences(expected[key], actual[key], bind, `${path}/${key}`, out)
      }
      for (const key of Object.keys(actual))
        if (!Object.hasOwn(expected, key)) out.push(`${path}/${key}: unexpected ${show(actual[key])}`)
    }
  } else if (isNumber(expected) && isNumber(actual)) {
    if (expected !== actual && Number(expected) !== Number(actual)) wrong()
  } else if ((expected ?? null) !== (actual ?? null)) wrong()
  return out
}

/**
 * Selects the recorded parts of a large body by JSON pointers. `[key=value]` selects from a list, `#keys` and `#names`
 * summarise.
 */
export function select(body: Json, pointers: readonly string[]): Json {
  return Object.fromEntries(pointers.map(pointer => [pointer, selectOne(body, pointer)]))
}

function selectOne(body: Json, pointer: string): Json {
  const [path = "", op] = pointer.split("#")
  let node: Json | undefined = body
  for (const segment of path.split("/").filter(part => part !== "")) {
    if (segment.startsWith("[")) {
      const [key = "", wanted] = segment.slice(1, -1).replaceAll("~1", "/").split("=")
      const value = (item: Json): Json | undefined =>
        key.split(".").reduce<Json | undefined>((at, name) => (isObject(at) ? at[name] : undefined), item)
      node = Array.isArray(node) ? node.find(item => value(item) === wanted) : undefined
    } else {
      const name = segment.replaceAll("~1", "/").replaceAll("~0", "~")
      node = isObject(node) ? node[name] : Array.isArray(node) ? node[Number(name)] : undefined
    }
    if (node === undefined || node === null) return null
  }
  if (op === "keys") return isObject(node) ? Object.keys(node).sort() : null
  if (op === "names") {
    const nameOf = (item: Json): string => asString(dig(item, "name")) || asString(dig(item, "metadata", "name"))
    return Array.isArray(node) ? node.map(nameOf).sort((a, b) => (a < b ? -1 : 1)) : null
  }
  return node ?? null
}
