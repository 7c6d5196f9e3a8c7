// SPDX-License-Identifier: Apache-2.0
// Attributes of a request and conditions on them. Every value is a text: for an address its bits, for a subject both
// halves.

import { isIPv4, isIPv6 } from "node:net"
import { fields, Invalid, spend, text, texts } from "./read.js"
import {
  classesOf,
  type Language,
  literal,
  many,
  one,
  other,
  others,
  type Pattern,
  pattern,
  REST,
  takes,
} from "./text.js"

/** Null means absent; a list is for an attribute with several values, such as the lines of a header. */
export type Value = string | null | readonly string[]

/** Holds if one of the patterns matches a value or, when negated, none does. */
export interface Condition {
  readonly key: string
  readonly attribute: string
  readonly negated: boolean
  readonly patterns: readonly Pattern[]
  /** By value. */
  readonly known: Map<string | null, boolean>
}

/** Facts that are the same for every request. */
export type Given = { readonly paths: string; readonly ports: readonly string[]; readonly keys: readonly string[] }

/**
 * Attributes with any number of values: header lines and elements of a claim; `jti` is one text (RFC 7519 section
 * 4.1.7).
 */
export const isSeveral = (attribute: string): boolean =>
  attribute.startsWith("header ") || (attribute.startsWith("claim ") && attribute !== 'claim ["jti"]')

export function condition(attribute: string, negated: boolean, patterns: readonly Pattern[]): Condition {
  const keys = [...new Set(patterns.map(({ key }) => key))].sort()
  return { key: JSON.stringify([attribute, negated, keys]), attribute, negated, patterns, known: new Map() }
}

export function holds({ negated, patterns, known }: Condition, value: Value): boolean {
  const id = value === null || typeof value === "string" ? value : JSON.stringify(value)
  spend(1 + ((id?.length ?? 0) >> 6))
  const before = known.get(id)
  if (before !== undefined) return before !== negated
  const all = value === null ? [] : typeof value === "string" ? [value] : value
  const taken = all.some(text => patterns.some(pattern => takes(pattern, text)))
  known.set(id, taken)
  return taken !== negated
}

export const NO_KEY = "no key of any rule"
export const exactly = (...choices: readonly string[]): readonly Pattern[] =>
  choices.map(choice => pattern(...literal(choice)))
const infix = (...sets: readonly string[]): Pattern => pattern(REST, ...sets.map(one), REST)

/** Patterns that no path matches that normalisation leaves unchanged (docs/semantics.md, "Paths"). */
function neverInPaths(mode: string): readonly Pattern[] {
  const never = [infix("?"), infix("#")]
  if (mode === "NONE") return never
  never.push(
    infix("\\"),
    infix("/", ".", "/"),
    infix("/", ".", ".", "/"),
    pattern(REST, ...literal("/.")),
    pattern(REST, ...literal("/..")),
  )
  const escapes = { 0: "0", 2: "dDeE", 3: "0123456789", 46: "123456789abcdefABCDEF", 57: "0123456789aA" }
  for (const [first, second] of Object.entries(escapes)) never.push(infix("%", first, second))
  never.push(infix("%", "5", "fF"), infix("%", "7", "eE"))
  if (mode !== "BASE") never.push(infix("/", "/"))
  if (mode === "DECODE_AND_MERGE_SLASHES") never.push(infix("%", "2", "fF"), infix("%", "5", "cC"))
  return never
}

const NAME = "abcdefghijklmnopqrstuvwxyz0123456789._-"
const anyName = (chars: string) => [one(chars), many(chars)]
const MIXED = NAME + NAME.toUpperCase()
const IDENTITY = pattern(...anyName(NAME), ...literal("/ns/"), ...anyName(MIXED), ...literal("/sa/"), ...anyName(MIXED))
const DIGITS = "0123456789"
const bits = (family: string, size: number) =>
  pattern(one(family), ...new Array<ReturnType<typeof one>>(size).fill(one("01")))
const HALVES = [literal("-"), [one("+"), others("\0")]]

function languageOf(attribute: string, { paths, ports, keys }: Given): Language {
  const all = (...within: readonly Pattern[]) => ({ within, without: [] })
  if (["method", "host", "sni"].includes(attribute)) return all(pattern(other(""), REST))
  if (attribute === "scheme") return all(...exactly("http", "https"))
  if (attribute === "path") return { ...all(pattern(one("/"), REST), ...exactly("*")), without: neverInPaths(paths) }
  if (attribute === "peer") return all(IDENTITY)
  if (attribute === "port")
    return all(...(ports.length > 0 ? exactly(...ports) : [pattern(one(DIGITS.slice(1)), many(DIGITS))]))
  if (attribute === "token key") return all(...exactly(...keys, NO_KEY))
  if (attribute === "expiry") return all(...exactly("set", "none"))
  if (attribute.endsWith(" ip")) return all(bits("4", 32), bits("6", 128))
  if (attribute === "subject") return all(...HALVES.flatMap(a => HALVES.map(b => pattern(...a, one("\0"), ...b))))
  return all(pattern(attribute.startsWith("header ") ? others("\0\r\n") : REST))
}

const isOptional = (attribute: string): boolean => ["sni", "host", 'claim ["jti"]'].includes(attribute)

/** Whether a request can have this value. */
export function isPossible(attribute: string, value: Value, given: Given): boolean {
  if (value === null) return isOptional(attribute)
  const { within, without } = languageOf(attribute, given)
  const isOne = (text: string) => within.some(one => takes(one, text)) && !without.some(one => takes(one, text))
  const isSpelled = (text: string) => /^[!-~]*$/.test(text) || !["path", "method", "host"].includes(attribute)
  const isOther =
    attribute === "port" ? Number(value) > 65_535 : attribute === "peer" && /\/\.\.?(\/|$)/.test(String(value))
  return !isOther && (typeof value === "string" ? [value] : value).every(text => isOne(text) && isSpelled(text))
}

const listed = new Map<string, readonly Value[]>()

/**
 * One value for each set of patterns that some value matches; for a multi-valued attribute, that a single value
 * matches.
 */
export function classes(attribute: string, patterns: readonly Pattern[], given: Given): readonly Value[] {
  const distinct = [...new Map(patterns.map(one => [one.key, one])).values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  const id = JSON.stringify([attribute, given, distinct.map(({ key }) => key)])
  const known = listed.get(id)
  if (known !== undefined) return known
  const found = classesOf(distinct, languageOf(attribute, given))
  const values = isOptional(attribute) ? [...found, null] : found
  listed.set(id, values)
  return values
}

/** Whether some text matches both a pattern of one list and a pattern of the other. */
export const doMeet = (some: readonly Pattern[], others: readonly Pattern[]): boolean =>
  some.some(a => others.some(b => a.key === b.key || meeting(a, b)))

const common = new Map<string, boolean>()

function meeting(a: Pattern, b: Pattern): boolean {
  const id = a.key < b.key ? `${a.key} ${b.key}` : `${b.key} ${a.key}`
  const known = common.get(id) ?? classesOf([b], { within: [a], without: [] }).some(text => takes(b, text))
  common.set(id, known)
  return known
}

/** Reads the value's form in a certificate. */
export function readValue(value: unknown, attribute: string): Value {
  if (value === null || attribute === "subject") {
    if (attribute !== "subject") return null
    const { issuer, subject } = fields(value, attribute, ["issuer", "subject"])
    const half = (one: unknown) => (one === null ? "-" : `+${text(one, attribute)}`)
    if (/\0/.test(half(issuer) + half(subject))) throw new Invalid("a NUL in an issuer or a subject is not modelled")
    return `${half(issuer)}\0${half(subject)}`
  }
  if (isSeveral(attribute)) return texts(value, attribute)
  return attribute.endsWith(" ip") ? addressBits(text(value, attribute)) : text(value, attribute)
}

/** Either half may be absent from a rule. */
export function subjectPattern(issuer: Pattern["steps"] | undefined, subject: Pattern["steps"] | undefined): Pattern {
  const half = (steps: Pattern["steps"] | undefined) => (steps === undefined ? [others("\0")] : [one("+"), ...steps])
  if ([issuer, subject].some(steps => steps?.some(({ of, not }) => of === "\0" && !not)))
    throw new Invalid("a NUL in an issuer or a subject is not modelled")
  return pattern(...half(issuer), one("\0"), ...half(subject))
}

const MAPPED = "0".repeat(80) + "1".repeat(16)

/** The family and the bits; an IPv4-mapped IPv6 address is the IPv4 address. */
function addressBits(address: string): string {
  if (isIPv4(address))
    return `4${address
      .split(".")
      .map(part => Number(part).toString(2).padStart(8, "0"))
      .join("")}`
  if (!isIPv6(address) || address.includes("%")) throw new Invalid(`\`${address}\` is no address`)
  const [left = "", right = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const parts = (half: string) => (half === "" ? [] : half.split(":"))
  const zeros = new Array<string>(8 - parts(left).length - parts(right).length).fill("0")
  const words = [...parts(left), ...zeros, ...parts(right)]
  const bits = words.map(word => Number.parseInt(word, 16).toString(2).padStart(16, "0")).join("")
  return bits.startsWith(MAPPED) ? `4${bits.slice(96)}` : `6${bits}`
}

/** An address or a CIDR block. */
export function blockPattern(block: string): Pattern {
  const [address = "", length, ...more] = block.split("/")
  const bits = addressBits(address)
  const isMapped = bits.startsWith("4") && address.includes(":")
  const size = length === undefined ? bits.length - 1 : Number(length) - (isMapped ? 96 : 0)
  if (more.length > 0 || !/^\d{1,3}$/.test(length ?? "0") || !(size >= 0 && size < bits.length))
    throw new Invalid(`\`${block}\` is no block`)
  return pattern(...literal(bits.slice(0, 1 + size)), REST)
}
