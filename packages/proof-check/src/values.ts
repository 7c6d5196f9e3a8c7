// SPDX-License-Identifier: Apache-2.0
// Attributes of a request, conditions on them, and one value for every way in which conditions can hold together.

import { isIP } from "node:net"
import { Invalid } from "./read.js"
import { ANY, IDENTITY, type Language, NON_EMPTY, pathLanguage, type Steps, takes, textClasses, words } from "./text.js"

export type Subject = { readonly issuer: string | null; readonly subject: string | null }
/** Null is absent; a list is of an attribute with several values, as the lines of a header. */
export type Value = string | null | readonly string[] | Subject

/** One value of a rule. */
export type Mark = { readonly key: string } & (
  | { readonly text: Steps }
  | { readonly block: Block }
  | { readonly choice: string }
  | { readonly issuer: Steps | undefined; readonly subject: Steps | undefined }
)

/** Holds where the value bears one of the marks or, negated, none of them. */
export interface Condition {
  readonly key: string
  readonly attribute: string
  readonly negated: boolean
  readonly marks: readonly Mark[]
}

export type Given = { readonly paths: string; readonly ports: readonly string[]; readonly keys: readonly string[] }

/** Any number of header lines and of elements of a claim; `jti` is one text (RFC 7519 section 4.1.7). */
export const isSeveral = (attribute: string): boolean =>
  attribute.startsWith("header ") || (attribute.startsWith("claim ") && attribute !== 'claim ["jti"]')

export const NO_KEY = "no key of any rule"

export const textMark = (text: Steps): Mark => ({ key: JSON.stringify(text), text })
export const choiceMark = (choice: string): Mark => ({ key: choice, choice })
export const subjectMark = (issuer: Steps | undefined, subject: Steps | undefined): Mark => ({
  key: JSON.stringify([issuer ?? null, subject ?? null]),
  issuer,
  subject,
})

export function blockMark(value: string): Mark {
  const block = parseBlock(value)
  return { key: `${block.family} ${block.first} ${block.last}`, block }
}

export function condition(attribute: string, negated: boolean, marks: readonly Mark[]): Condition {
  const keys = [...new Set(marks.map(({ key }) => key))].sort()
  return { key: JSON.stringify([attribute, negated, keys]), attribute, negated, marks }
}

const bears = (value: Value, mark: Mark): boolean => {
  if (value === null) return false
  if (typeof value === "string") {
    if ("text" in mark) return takes(mark.text, value)
    if ("choice" in mark) return mark.choice === value
    if (!("block" in mark)) return false
    const { family, first } = parseBlock(value)
    return mark.block.family === family && first >= mark.block.first && first <= mark.block.last
  }
  if ("subject" in value) {
    if (!("subject" in mark)) return false
    const half = (text: string | null, steps: Steps | undefined) =>
      steps === undefined || (text !== null && takes(steps, text))
    return half(value.issuer, mark.issuer) && half(value.subject, mark.subject)
  }
  return value.some(text => bears(text, mark))
}

const borne = new Map<string, boolean>()

export function holds({ negated, marks }: Condition, value: Value): boolean {
  const spelled = JSON.stringify(value)
  const any = marks.some(mark => {
    const id = `${spelled} ${mark.key}`
    let known = borne.get(id)
    if (known === undefined) {
      if (borne.size > 500_000) borne.clear()
      known = bears(value, mark)
      borne.set(id, known)
    }
    return known
  })
  return any !== negated
}

const common = new Map<string, boolean>()

/** Whether some single value bears both. */
export function marksMeet(a: Mark, b: Mark): boolean {
  const id = a.key < b.key ? `${a.key} ${b.key}` : `${b.key} ${a.key}`
  let known = common.get(id)
  if (known === undefined) {
    if (common.size > 1_000_000) common.clear()
    known = meeting(a, b)
    common.set(id, known)
  }
  return known
}

/** Whether some text is taken by both. */
function meet(a: Steps, b: Steps): boolean {
  const isPlain = (steps: Steps) => steps.every(({ of, many }) => !many && of.length === 1)
  const spell = (steps: Steps) => steps.map(({ of }) => of).join("")
  if (isPlain(a)) return takes(b, spell(a))
  return isPlain(b) ? takes(a, spell(b)) : textClasses([a, b], ANY).some(text => takes(a, text) && takes(b, text))
}

function meeting(a: Mark, b: Mark): boolean {
  if ("text" in a && "text" in b) return meet(a.text, b.text)
  if ("choice" in a && "choice" in b) return a.choice === b.choice
  if ("block" in a && "block" in b) {
    const [one, other] = [a.block, b.block]
    return one.family === other.family && one.first <= other.last && other.first <= one.last
  }
  if (!("subject" in a && "subject" in b)) return true
  const half = (one: Steps | undefined, other: Steps | undefined) => !one || !other || meet(one, other)
  return half(a.issuer, b.issuer) && half(a.subject, b.subject)
}

/** The texts an attribute can have, and whether a request may be without. */
function languageOf(attribute: string, given: Given): { readonly language: Language; readonly optional: boolean } {
  const all = (language: Language, optional = false) => ({ language, optional })
  if (attribute === "method") return all(NON_EMPTY)
  if (attribute === "scheme") return all(words(["http", "https"]))
  if (attribute === "sni") return all(ANY, true)
  if (attribute === "host") return all(NON_EMPTY, true)
  if (attribute === "path") return all(pathLanguage(given.paths))
  if (attribute === "peer") return all(IDENTITY)
  return all(ANY, !isSeveral(attribute))
}

export function isText(attribute: string, text: string, given: Given): boolean {
  const { language } = languageOf(attribute, given)
  let state: string | undefined = ""
  for (const char of text.split("")) if (state !== undefined) state = language.step(state, char)
  return state !== undefined && language.accepts(state)
}

const listed = new Map<string, readonly Value[]>()

/** A value for each set of marks that some value bears; of an attribute with several values, for each of one of them. */
export function classes(attribute: string, marks: readonly Mark[], given: Given): readonly Value[] {
  const distinct = [...new Map(marks.map(mark => [mark.key, mark])).values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  const id = JSON.stringify([attribute, given, distinct.map(({ key }) => key)])
  let known = listed.get(id)
  if (known === undefined) {
    if (listed.size > 2_000) listed.clear()
    known = classesOf(attribute, distinct, given)
    listed.set(id, known)
  }
  return known
}

function classesOf(attribute: string, marks: readonly Mark[], given: Given): readonly Value[] {
  const chosen = marks.flatMap(mark => ("choice" in mark ? mark.choice : []))
  if (attribute === "port") {
    if (given.ports.length > 0) return given.ports
    const other = Array.from({ length: 65_535 }, (_, at) => String(at + 1)).find(port => !chosen.includes(port))
    return [...new Set(chosen), ...(other === undefined ? [] : [other])]
  }
  if (attribute === "token key") return [...given.keys, NO_KEY]
  if (attribute === "expiry") return ["set", "none"]
  if (attribute.endsWith(" ip")) return addressClasses(marks.flatMap(mark => ("block" in mark ? mark.block : [])))
  if (attribute === "subject") {
    const half = (of: "issuer" | "subject") => [
      ...textClasses(
        marks.flatMap(mark => ("subject" in mark && mark[of] ? [mark[of]] : [])),
        ANY,
      ),
      null,
    ]
    const subjects = half("subject")
    return half("issuer").flatMap(issuer => subjects.map(subject => ({ issuer, subject })))
  }
  const { language, optional } = languageOf(attribute, given)
  const texts = textClasses(
    marks.flatMap(mark => ("text" in mark ? [mark.text] : [])),
    language,
  )
  return optional ? [...texts, null] : texts
}

interface Block {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

const MAPPED = 0xffffn << 32n

/** An address or a CIDR block; an IPv4-mapped IPv6 address is the IPv4 address. */
function parseBlock(text: string): Block {
  const [address = "", length] = text.split("/")
  const kind = isIP(address)
  if (kind === 0 || address.includes("%")) throw new Invalid(`\`${text}\` is no address or block`)
  let value = kind === 4 ? 0n : valueOfIpv6(address)
  if (kind === 4) for (const part of address.split(".")) value = (value << 8n) | BigInt(part)
  const isMapped = kind === 6 && value >> 32n === 0xffffn
  const family = kind === 4 || isMapped ? 4 : 6
  if (isMapped) value &= 0xffff_ffffn
  const size = family === 4 ? 32 : 128
  const bits = length === undefined ? size : Number(length) - (isMapped ? 96 : 0)
  if (!(bits >= 0 && bits <= size && /^(\d+)?$/.test(length ?? ""))) throw new Invalid(`\`${text}\` is no block`)
  const free = BigInt(size - bits)
  const first = (value >> free) << free
  return { family, first, last: first + (1n << free) - 1n }
}

function valueOfIpv6(address: string): bigint {
  const [left = "", right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const parts = (text: string) => (text === "" ? [] : text.split(":"))
  const zeros = right === undefined ? 0 : 8 - parts(left).length - parts(right).length
  const all = [...parts(left), ...new Array<string>(zeros).fill("0"), ...parts(right ?? "")]
  return all.reduce((value, part) => (value << 16n) | BigInt(`0x${part}`), 0n)
}

/** The first address of each interval between the borders of the blocks. */
function addressClasses(blocks: readonly Block[]): readonly string[] {
  const four = new Set([0n])
  const six = new Set([0n, MAPPED + (1n << 32n)])
  for (const { family, first, last } of blocks) for (const at of [first, last + 1n]) (family === 4 ? four : six).add(at)
  const spell = (value: bigint, parts: number, bits: bigint, radix: number) =>
    Array.from({ length: parts }, (_, at) => (value >> (BigInt(parts - 1 - at) * bits)) & ((1n << bits) - 1n)).map(
      part => part.toString(radix),
    )
  return [
    ...[...four].filter(value => value < 1n << 32n).map(value => spell(value, 4, 8n, 10).join(".")),
    ...[...six]
      .filter(value => value < 1n << 128n && value >> 32n !== 0xffffn)
      .map(v => spell(v, 8, 16n, 16).join(":")),
  ]
}
