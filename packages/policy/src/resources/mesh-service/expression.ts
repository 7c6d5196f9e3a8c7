// SPDX-License-Identifier: Apache-2.0
// RE2 expressions of MeshServices. The cost of an expression depends on what it compiles to, not on its length: nested
// repetitions multiply, and case folding over a wide class visits all of it. The size is first estimated from the text,
// never too low, and compiled expressions are cached.

import { LRUCache } from "lru-cache"
import { RE2JS } from "re2js"

/**
 * Instructions, or equivalent work. An expression without repetition always fits, because its text has at most 1,024
 * characters.
 */
export const MAX_EXPRESSION_SIZE = 2_048
/** For all expressions of one MeshService together. */
export const MAX_EXPRESSIONS_SIZE = 16_384

const compiled = new LRUCache<string, RE2JS>({ max: 1_024 })

/** Throws if the text is not an expression. INVARIANT: its size is known to be within the limit. */
export function compileExpression(text: string): RE2JS {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const expression = RE2JS.compile(text)
  compiled.set(text, expression)
  return expression
}

/** A Unicode class, such as `\pL`, holds hundreds of ranges. */
const UNICODE_CLASS = 8
/** Code points whose cases are folded in the time that one instruction takes. */
const FOLDED_PER_INSTRUCTION = 50
const FOLDS = /\(\?[a-zA-Z]*i/
const REPEAT = /\{([0-9]+)(,?)([0-9]*)\}/y
/** Flags are not an atom: a repetition after them repeats what precedes them. */
const FLAGS_ALONE = /\(\?[a-zA-Z-]+\)/y
/** A group has an instruction at its start and one at its end; an empty group has one more. */
const GROUP = 2
const EMPTY_GROUP = GROUP + 1
const GROUP_HEAD = /\?(?:P?<[^>]*>|[a-zA-Z-]*:?)/y
const ESCAPE = /\\(?:[pP](?:\{[^}]*\}|.)|x\{[0-9a-fA-F]*\}|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)/suy

/**
 * An open group: the instructions before the last atom, and those of the last atom, which a repetition would multiply.
 */
interface Group {
  before: number
  last: number
}

/** An upper bound of the compiled size. A text that is not an expression has a size too. */
export function expressionSize(text: string): number {
  const folds = FOLDS.test(text)
  const open: Group[] = []
  let group: Group = { before: 3, last: 0 }
  const atom = (size: number): void => {
    group.before += group.last
    group.last = size
  }
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  while (at < text.length) {
    const character = text[at]
    if (text.startsWith("\\Q", at)) {
      const end = text.indexOf("\\E", at)
      const quoted = text.slice(at + 2, end < 0 ? text.length : end)
      atom(quoted.length)
      at += quoted.length + (end < 0 ? 2 : 4)
      continue
    }
    if (character === "\\") {
      const escaped = take(ESCAPE)?.[0] ?? ""
      if (escaped === "") at++
      atom(/^\\[pP]/.test(escaped) ? UNICODE_CLASS : 1)
      continue
    }
    if (character === "[") {
      const end = classEnd(text, at)
      atom(classSize(text.slice(at + 1, end), folds))
      at = end + 1
      continue
    }
    const repeat = character === "{" ? take(REPEAT) : null
    if (repeat !== null) {
      const [, least, comma, most] = repeat
      const times = most === "" || most === undefined ? Number(least) + (comma === "" ? 0 : 1) : Number(most)
      group.last = (group.last + 2) * Math.max(1, times)
      continue
    }
    if (character === "(" && take(FLAGS_ALONE) !== null) continue
    at++
    if (character === "(") {
      take(GROUP_HEAD)
      open.push(group)
      group = { before: GROUP, last: 0 }
    } else if (character === ")") {
      const inner = Math.max(EMPTY_GROUP, group.before + group.last)
      group = open.pop() ?? group
      atom(inner)
    } else if (character === "|") atom(2)
    else if (character === "*" || character === "+" || character === "?") group.last += 2
    else atom(1)
  }
  // Unclosed groups still count.
  return [...open, group].reduce((sum, { before, last }) => sum + before + last, 0)
}

/** The index of the bracket that closes the class, or the end of the text. */
function classEnd(text: string, start: number): number {
  let at = start + 1
  if (text[at] === "^") at++
  // A bracket at the beginning of a class is a literal.
  if (text[at] === "]") at++
  for (; at < text.length; at++) {
    if (text[at] === "\\") at++
    else if (text.startsWith("[:", at)) {
      const end = text.indexOf(":]", at)
      if (end > 0) at = end + 1
    } else if (text[at] === "]") return at
  }
  return text.length
}

const CLASS_ITEM = /\[:[^\]]*:\]|\\[pP](?:\{[^}]*\}|.)|\\x\{[0-9a-fA-F]*\}|\\x[0-9a-fA-F]{2}|\\[0-7]{1,3}|\\.|./gsu

function classSize(content: string, folds: boolean): number {
  const items = content.match(CLASS_ITEM) ?? []
  let size = 1
  for (const [index, item] of items.entries()) {
    if (/^\\[pP]/.test(item)) size += UNICODE_CLASS
    if (!folds || item !== "-") continue
    const [low, high] = [codePoint(items[index - 1]), codePoint(items[index + 1])]
    size += Math.ceil(Math.max(0, high - low) / FOLDED_PER_INSTRUCTION)
  }
  return size + Math.floor(items.length / FOLDED_PER_INSTRUCTION)
}

function codePoint(item: string | undefined): number {
  const hex = item === undefined ? undefined : /^\\x\{?([0-9a-fA-F]+)/.exec(item)?.[1]
  if (hex !== undefined) return Number.parseInt(hex, 16)
  const octal = item === undefined ? undefined : /^\\([0-7]+)$/.exec(item)?.[1]
  if (octal !== undefined) return Number.parseInt(octal, 8)
  return item?.codePointAt(item.startsWith("\\") ? 1 : 0) ?? 0
}
